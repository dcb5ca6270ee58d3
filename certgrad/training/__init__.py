"""Training steps: θ' = θ − lr·∂L/∂θ and its kin, as statements, certified and run.

step = training_step(trace(loss, "x: n d", "W: d h", "target: n h"), SGD, ["W"])
context = step.start({"W": W}, hyperparameters={"lr": 0.1})
context, value = step(context, x=x, target=target)
"""

from certgrad.training._context import Context
from certgrad.training._log import DamagedLogWarning, Entry, Log, LogError, TrainingLog, read_log
from certgrad.training._proof import prove_kept, prove_update
from certgrad.training._report import render
from certgrad.training._step import StepNotCertifiedError, TrainingStep, certify_step, training_step
from certgrad.training._updates import ADAM, ADAMW, MOMENTUM, NESTEROV, SGD, Update
from certgrad.training.certificate import StepCertificate, decode, encode

__all__ = [
    "ADAM",
    "ADAMW",
    "MOMENTUM",
    "NESTEROV",
    "SGD",
    "Context",
    "DamagedLogWarning",
    "Entry",
    "Log",
    "LogError",
    "StepCertificate",
    "StepNotCertifiedError",
    "TrainingLog",
    "TrainingStep",
    "Update",
    "certify_step",
    "decode",
    "encode",
    "prove_kept",
    "prove_update",
    "read_log",
    "render",
    "training_step",
]
