import os
import subprocess
import sys

import pytest

AFTER_THE_COMPILER = """
import os
import partita.training.device as device
import torch._inductor.runtime.cache_dir_utils as own
own.cache_dir()  # what an optimiser or vmap may bring about: the compiler settles on a temporary folder
device.prepare_compiler()
print(os.environ["TORCHINDUCTOR_CACHE_DIR"], own.cache_dir())
"""


@pytest.mark.parametrize("said", [None, "said"])
def test_compiled_code_is_kept_for_the_next_start_where_the_user_says_or_in_the_cache(tmp_path, said):
    kept = {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path)}
    without = {name: value for name, value in os.environ.items() if not name.startswith("TORCHINDUCTOR")}
    chosen = {} if said is None else {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / said)}
    ended = subprocess.run(
        [sys.executable, "-c", AFTER_THE_COMPILER], env=without | kept | chosen, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    folder, used = ended.stdout.split()
    assert folder == used
    assert folder.startswith(str(tmp_path))
    assert folder.endswith("said" if said else "inductor")
