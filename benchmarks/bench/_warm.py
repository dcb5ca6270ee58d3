"""What a warm `certgrad audit` cannot do without, as programs of their own: the imports, and the traces."""

IMPORTS = """
from certgrad.cli import _console, _library, _output, _run, _select
_library.names()
import certgrad.obligations.auditing.audit, certgrad.report.text, rich.progress
import atexit, gc, typer._adapters  # the last: what reading the command line imports
atexit.register(gc.freeze)  # as the command does
"""

TRACING = """
import gc, json, sys, time
from pathlib import Path
from certgrad.cli import _library
_library.names()
gc.disable()  # as the command does
import certgrad.obligations.auditing.audit
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.cache import Cache, Folder
from certgrad.obligations.verify import _programs
from certgrad.ops import Composed, registry
_programs.case_digest = lambda *programs: ""  # of a composed op the programs alone
cache = Cache(Folder(Path(sys.argv[1])))
plans = {op.name: cache.specs(op) for op in registry}
start = time.process_time()
for op in registry:
    if isinstance(op, Composed):
        for case in op.cases:
            _programs.digest(op, case)
        continue
    traces = Traces(op)
    for spec in plans[op.name]:
        traces.make(spec)
print(json.dumps({"seconds": time.process_time() - start, "families": sum(map(len, plans.values()))}))
"""
