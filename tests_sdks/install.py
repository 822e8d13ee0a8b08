"""
Install what an extra lists, one by one if need be, into the environment that runs this.

    python tests_sdks/install.py [EXTRA]

The extra is `sdks`, which the tests here need, unless another is named. What cannot be installed is named and left out;
its tests are then skipped.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Without these nothing can be tested.
NEEDED = ("pytest", "pytest-xdist", "anyio", "trio", "httpx", "requests")


# Most of the modules that SDKs bring are never imported, so that they are not compiled.
INSTALL = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]


def pip(*what: str) -> bool:
    return subprocess.run([*INSTALL, *what], cwd=ROOT, check=False).returncode == 0


def main() -> None:
    extra = sys.argv[1] if len(sys.argv) > 1 else "sdks"
    if pip("--editable", f".[{extra}]"):
        return
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = wanted["project"]["optional-dependencies"][extra]
    missing = [] if pip("--editable", ".") else ["chunkfold"]
    missing += [one for one in requirements if not pip(one)]
    if missing:
        print(f"cannot be installed here, so not tried: {', '.join(missing)}", flush=True)
    if any(one.startswith((*NEEDED, "chunkfold")) for one in missing):
        sys.exit(1)


if __name__ == "__main__":
    main()
