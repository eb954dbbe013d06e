"""What is built from web/ is what the package carries."""

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB, STATIC = ROOT / "web", ROOT / "src" / "partita" / "explorer" / "static"


def test_the_bundle_is_built_from_these_sources(tmp_path):
    if shutil.which("node") is None:
        pytest.skip("needs Node: the bundle that is here was built by ./dev web")
    if not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("needs the packages of web/: run ./dev web once")
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=WEB, check=True, capture_output=True, timeout=120)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in STATIC.iterdir()}
    for built in tmp_path.iterdir():
        ours, theirs = built.read_bytes(), (STATIC / built.name).read_bytes()
        if built.suffix == ".gz":  # another zlib may zip the same bytes to others
            ours, theirs = gzip.decompress(ours), gzip.decompress(theirs)
        assert ours == theirs, f"{built.name} is not what its sources make: run ./dev web"


def test_versions_are_exact_and_the_lockfile_has_no_address():
    wanted = json.loads((WEB / "package.json").read_text())
    versions = wanted["dependencies"] | wanted["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions.values())
    lock = (WEB / "package-lock.json").read_text()
    assert "://" not in lock
    packages = json.loads(lock)["packages"]
    assert {name: packages[f"node_modules/{name}"]["version"] for name in versions} == versions
    assert all("integrity" in about for name, about in packages.items() if name)


def test_licences_of_all_that_is_bundled_lie_beside_it():
    said = (STATIC / "LICENSES.txt").read_text()
    for name, version in json.loads((WEB / "package.json").read_text())["dependencies"].items():
        assert f"{name} {version} (" in said
    assert said.count("Permission is hereby granted") >= 3
    assert "Apache License" in said
    notices = gzip.decompress((STATIC / "ort-notices.txt.gz").read_bytes()).decode()
    assert "Eigen" in notices, "what ONNX Runtime itself is made of"


def test_nothing_in_the_bundle_needs_what_the_policy_forbids():
    script = (STATIC / "explorer.js").read_text()
    assert "</script" not in script
    assert "<!--" not in script
    assert "style=" not in (STATIC / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*src=)[^>]*>", (STATIC / "index.html").read_text()) == []
