"""`certgrad verify`: exit codes, formats, and what it says of files that are no certificates."""

import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from certgrad import audit_op
from certgrad.cli._certificates import MAX_BYTES
from certgrad.cli.graph import load
from certgrad.graph import certificate as graphs
from certgrad.graph import certify, trace
from certgrad.obligations.certificate import FORMAT, sealed
from certgrad.report.json import encode
from tests.cli.conftest import Result

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two ops."""
    root = tmp_path_factory.mktemp("reports")
    (root / "certificates").mkdir()
    (root / "schema.json").write_text("{}")
    for name in ("relu", "matmul"):
        (root / f"certificates/{name}.json").write_bytes(encode(audit_op(name)))
    return root


def edited(folder: Path, to: Path, **fields: object) -> Path:
    document = json.loads((folder / "certificates/relu.json").read_text())
    to.write_text(json.dumps(document | fields))
    return to


@pytest.mark.slow
def test_a_folder_is_verified(folder: Path, certgrad: Run) -> None:
    result = certgrad("verify", str(folder))
    assert result.code == 0
    assert result.err == ""
    lines = result.out.splitlines()
    assert lines[0].split() == ["op", "outcome", "level", "shapes", "points", "boundary", "error", "time"]
    assert [line.split()[:2] for line in lines[1:3]] == [["matmul", "verified"], ["relu", "verified"]]
    assert lines[-1].startswith("2 certificates: 2 verified, 0 failed, 0 not checked, 0 not a proof (")


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_page_is_as_wide_as_the_terminal(
    folder: Path, certgrad: Run, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    paths = [str(edited(folder, folder / "a_certificate.json", op="an_op_that_nobody_has_and_of_a_long_name"))]
    lines = certgrad("verify", *paths, str(folder / "certificates/relu.json")).out.splitlines()
    widest = "  outcome      level               shapes  points  boundary   error     time"
    assert max(map(len, lines)) <= max(columns, len(widest))
    assert any("an_op_that_nobody_has_and_of_a_long_name" in line for line in lines)


def test_files_in_the_order_given_and_each_once(folder: Path, certgrad: Run) -> None:
    relu, matmul = (str(folder / f"certificates/{name}.json") for name in ("relu", "matmul"))
    document = json.loads(certgrad("verify", relu, matmul, relu, "--format", "json").out)
    assert [one["op"] for one in document["verifications"]] == ["relu", "matmul"]
    assert {one["outcome"] for one in document["verifications"]} == {"verified"}


@pytest.mark.slow
def test_the_result_does_not_depend_on_jobs(folder: Path, certgrad: Run) -> None:
    one = certgrad("verify", str(folder), "--format", "json")
    assert one.out == certgrad("verify", str(folder), "--format", "json", "--jobs", "2").out


def test_quiet_prints_the_summary(folder: Path, certgrad: Run) -> None:
    assert len(certgrad("verify", str(folder), "-q").out.splitlines()) == 1


def test_the_number_of_points_is_that_of_the_library() -> None:
    cli, check = (importlib.import_module(f"certgrad.{name}") for name in ("cli.verify", "obligations.verify._verify"))
    assert cli.DRAWS == check.DRAWS


def test_other_points_are_drawn_by_a_seed(folder: Path, certgrad: Run) -> None:
    assert certgrad("verify", str(folder), "--seed", "again", "--draws", "30").code == 0


def test_a_failure_exits_1_and_says_what_and_where(folder: Path, certgrad: Run, tmp_path: Path) -> None:
    certificate = audit_op("relu")
    traced = [msgspec.structs.replace(certificate.traced[0], digest="0" * 64)]
    path = tmp_path / "relu.json"
    path.write_bytes(encode(sealed(msgspec.structs.replace(certificate, traced=traced))))
    result = certgrad("verify", str(path))
    assert result.code == 1
    assert "relu: failed: case *s -> *s: the code traces to another program than the one that was proved" in " ".join(
        result.out.split()
    )
    assert "1 certificate: 0 verified, 1 failed, 0 not checked, 0 not a proof" in result.out


@pytest.mark.parametrize(
    "fields, outcome, said",
    [
        ({"source": "me"}, "failed", "checksum"),
        ({"op": "nosuch"}, "not checked", "not in the library"),
        ({"versions": {"jax": "0.4.1"}}, "not checked", "made with certgrad none (here "),
    ],
)
def test_exit_1_for_what_is_not_verified(
    folder: Path, certgrad: Run, tmp_path: Path, fields: dict, outcome: str, said: str
) -> None:
    result = certgrad("verify", str(edited(folder, tmp_path / "a.json", **fields)), "--format", "json")
    assert result.code == 1
    (one,) = json.loads(result.out)["verifications"]
    assert one["outcome"] == outcome
    assert said in one["problems"][0]


@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "this is no JSON, or not the whole of it"),
        (b'{"format": 2, "op": "relu", ', "this is no JSON, or not the whole of it"),
        (b"\xff\xfe\x00", "this is no JSON, or not the whole of it"),
        (b"[" * 200_000, "JSON"),
        (b"25 rules: 3 refuted", "this is no JSON, or not the whole of it"),
        (b"[1, 2]", "this is JSON, but no certificate and no audit"),
        (b'{"format": 1}', "this is JSON, but no certificate and no audit"),
        (b'{"format": "2", "op": "relu"}', "this is JSON, but no certificate and no audit"),
        (b'{"format": 1, "op": "relu"}', f"has format 1, and this certgrad reads format {FORMAT}"),
        (
            b'{"format": %d, "op": "relu", "extra": 1}' % FORMAT,
            f"this is not a whole certificate of format {FORMAT}",
        ),
        (b" " * (MAX_BYTES + 1), "larger than 64 MiB"),
    ],
)
def test_files_that_are_no_certificates_exit_2(certgrad: Run, tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    result = certgrad("verify", str(path))
    assert result.code == 2
    assert result.err.startswith(f"error: {path}: ")
    assert said in result.err
    assert result.out == ""


def test_a_certificate_cut_off_anywhere_exits_2(folder: Path, certgrad: Run, tmp_path: Path) -> None:
    whole = (folder / "certificates/relu.json").read_bytes().rstrip()
    path = tmp_path / "relu.json"
    for end in range(0, len(whole), 251):
        path.write_bytes(whole[:end])
        assert certgrad("verify", str(path)).code == 2


def test_one_strange_file_does_not_stop_the_others(folder: Path, certgrad: Run, tmp_path: Path) -> None:
    for name in ("relu", "matmul"):
        (tmp_path / f"{name}.json").write_bytes((folder / f"certificates/{name}.json").read_bytes())
    (tmp_path / "package.json").write_text('{"name": "mine"}')
    result = certgrad("verify", str(tmp_path), "--quiet")
    assert result.code == 2
    assert result.err.startswith(f"error: {tmp_path / 'package.json'}: this is JSON, but no certificate")
    assert result.out.startswith("2 certificates: 2 verified")
    for name in ("relu", "matmul"):
        (tmp_path / f"{name}.json").write_text("{")
    result = certgrad("verify", str(tmp_path))
    assert (result.code, result.out, result.err.count(".json: this is")) == (2, "", 3)


def test_unknown_fields_are_refused(folder: Path, certgrad: Run, tmp_path: Path) -> None:
    result = certgrad("verify", str(edited(folder, tmp_path / "a.json", proved=True)))
    assert result.code == 2
    assert "`proved`" in result.err


def test_a_folder_without_certificates_exits_5(certgrad: Run, tmp_path: Path) -> None:
    result = certgrad("verify", str(tmp_path))
    assert result.code == 5
    assert result.err.startswith("nothing selected: the folder holds no certificates.")


def test_a_path_that_is_not_there_exits_2(certgrad: Run, tmp_path: Path) -> None:
    result = certgrad("verify", str(tmp_path / "nowhere"))
    assert result.code == 2
    assert "there is no such file or folder" in result.err


def test_a_pipe_is_not_read(certgrad: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    result = certgrad("verify", str(tmp_path / "pipe"))
    assert result.code == 2
    assert "neither a file nor a folder" in result.err


def test_an_unreadable_file_exits_2(
    folder: Path, certgrad: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = edited(folder, tmp_path / "a.json")
    monkeypatch.setattr(Path, "open", refuse)
    result = certgrad("verify", str(path))
    assert result.code == 2
    assert result.err.startswith(f"error: {path}: the file cannot be read (Permission denied).")


def test_nothing_named_exits_2(certgrad: Run) -> None:
    assert certgrad("verify").code == 2


@pytest.mark.slow
def test_the_committed_certificates_are_verified(certgrad: Run) -> None:
    reports = str(Path(__file__).parents[2] / "reports")
    result = certgrad("verify", reports, "-q")
    assert result.code == 0, result.out + result.err
    assert ", 0 failed, 0 not checked, 0 not a proof" in result.out


GRAPH = str(Path(__file__).parents[2] / "examples" / "mlp.py") + ":loss"
SPECS = ["x: n d", "W1: d h", "b1: h", "W2: h c", "b2: c", "target: n c"]


@pytest.fixture(scope="module")
def of_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graphs") / "loss.json"
    certificate = certify(trace(load(GRAPH), *SPECS))
    path.write_bytes(graphs.encode(graphs.with_source(certificate, graphs.Source(target=GRAPH, specs=SPECS))))
    return path


def test_the_certificate_of_a_graph(of_graph: Path, folder: Path, certgrad: Run) -> None:
    result = certgrad("verify", str(of_graph), str(folder / "certificates/relu.json"), "--target", GRAPH)
    assert result.code == 0, result.err
    assert [line.split()[:2] for line in result.out.splitlines()[1:3]] == [["loss", "verified"], ["relu", "verified"]]
    assert "loss: 19 steps by 9 lemmas, each of its node's own programs; the sweep was evaluated at n = 2" in " ".join(
        result.out.split()
    )
    document = json.loads(certgrad("verify", str(of_graph), "--target", GRAPH, "--format", "json").out)
    assert document["verifications"][0]["points"] > 20


def test_what_the_command_prints_is_verified(certgrad: Run, tmp_path: Path) -> None:
    options = [part for spec in SPECS for part in ("--spec", spec)]
    path = tmp_path / "loss.json"
    path.write_text(certgrad("graph", GRAPH, *options, "--format", "json").out)
    assert certgrad("verify", str(path), "-q", "--target", GRAPH, "--draws", "2").code == 0


def test_a_file_does_not_choose_the_code(of_graph: Path, folder: Path, certgrad: Run) -> None:
    result = certgrad("verify", str(of_graph))
    assert result.code == 2
    assert "this is the certificate of the graph loss. Name the function that it is checked against" in result.err
    assert f"such as --target {GRAPH}" in result.err
    result = certgrad("verify", str(folder), "--target", GRAPH)
    assert result.code == 2
    assert "the certificates are of ops" in result.err
    result = certgrad("verify", str(of_graph), "--target", GRAPH.replace("loss", "nosuch"))
    assert result.code == 2
    assert "does not exist" in result.err


@pytest.mark.parametrize(
    "change, code, said",
    [
        (lambda text: text.replace('"verdict": "proved"', '"verdict": "refuted"', 1), 1, "failed: its checksum"),
        (lambda text: text.replace('"kernel": "', '"kernel": "0.'), 1, "not checked: made with kernel 0."),
        (lambda text: text[: len(text) // 2], 2, "this is no JSON, or not the whole of it"),
        (lambda text: text.replace('"theorems"', '"theorem"'), 2, "this is not a whole certificate of format"),
        (lambda text: text.replace(f'"format": {graphs.FORMAT}', '"format": 1'), 2, "this certificate has format 1"),
        (lambda text: '{"format": 3, "graph": {}}', 2, "this is JSON, but no certificate and no audit"),
        (lambda text: text.replace(f'"target": "{GRAPH}"', '"target": ""'), 1, "failed: its checksum"),
    ],
)
def test_a_damaged_certificate_of_a_graph(
    change: Callable[[str], str], code: int, said: str, of_graph: Path, tmp_path: Path, certgrad: Run
) -> None:
    path = tmp_path / "damaged.json"
    path.write_text(change(of_graph.read_text()))
    result = certgrad("verify", str(path), "--target", GRAPH)
    assert result.code == code
    assert said in result.out + result.err
