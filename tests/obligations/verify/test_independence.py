"""The second check and the ball evaluator load no module of the calculus."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
ALLOWED = ("certgrad.obligations.verify", "certgrad.obligations.balls", "certgrad.obligations.certificate")
NAMES = "_subject errors exact jaxpr language numbers ops process signatures specification"
OUTSIDE = tuple(f"certgrad.{name}" for name in NAMES.split())


def loaded_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sorted(sys.modules))"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_verify_runs_without_the_calculus() -> None:
    run = """
import pickle
from certgrad.obligations.certificate import Certificate, sealed
from certgrad.obligations.verify import verify
from certgrad.obligations.verify._programs import digest
from certgrad.ops import registry
import msgspec
digest(registry.get("softmax"), registry.get("softmax").cases[0])
certificate = msgspec.json.decode(open("reports/certificates/softmax.json").read())
certificate["versions"] = {}
verify(msgspec.convert(certificate, Certificate))
"""
    loaded = loaded_after(run)
    ours = {name for name in loaded if name.startswith("certgrad.")}
    strangers = {n for n in ours if not n.startswith((*ALLOWED, *OUTSIDE)) and n != "certgrad.obligations"}
    assert strangers == set()
    assert not loaded & {"sympy", "islpy"}


def test_no_module_of_them_names_the_calculus() -> None:
    files = [*(ROOT / "certgrad/obligations/verify").glob("*.py"), *(ROOT / "certgrad/obligations/balls").glob("*.py")]
    assert len(files) > 20
    for path in files:
        for line in path.read_text().splitlines():
            words = line.split()
            if words[:1] in (["from"], ["import"]) and words[1].startswith(("certgrad", ".")):
                assert words[1].startswith((*ALLOWED, *OUTSIDE, "._")) or words[1] == "certgrad", f"{path.name}: {line}"
