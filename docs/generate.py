"""Makes every generated page and figure under docs/ again: `./dev docs`, or `./dev docs estimators`."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    parts = sys.argv[1:] or sorted(path.stem.removeprefix("generate_") for path in HERE.glob("generate_*.py"))
    for part in parts:
        path = HERE / f"generate_{part}.py"
        if not path.exists():
            known = ", ".join(sorted(p.stem.removeprefix("generate_") for p in HERE.glob("generate_*.py")))
            sys.exit(f"docs: unknown part {part!r}; there are {known}")
        print(f"docs: {part}")
        sys.argv = [str(path)]
        runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    main()
