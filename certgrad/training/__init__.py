"""Training steps such as θ' = θ − lr·∂L/∂θ: stated as formulas, certified and run.

step = training_step(trace(loss, "x: n d", "W: d h", "target: n h"), SGD, ["W"])
context = step.start({"W": W}, hyperparameters={"lr": 0.1})
context, value = step(context, x=x, target=target)
run = train(step, context, batches, steps=1000, folder="run")
"""

from certgrad.training._context import Context
from certgrad.training._curves import curves
from certgrad.training._data import Batch, Data
from certgrad.training._log import DamagedLogWarning, Entry, Log, LogError, TrainingLog, read_log
from certgrad.training._optax import from_optax
from certgrad.training._proof import prove_kept, prove_update
from certgrad.training._published import (
    ADADELTA,
    ADAGRAD,
    ADAMAX,
    AMSGRAD,
    CLIP,
    CLIP_BY_GLOBAL_NORM,
    DECAY,
    LAMB,
    LION,
    NADAM,
    NADAMW,
    RMSPROP,
    SIGN_SGD,
    YOGI,
)
from certgrad.training._report import render
from certgrad.training._step import StepNotCertifiedError, TrainingStep, certify_step, training_step
from certgrad.training._stop import EarlyStop
from certgrad.training._train import Run, train
from certgrad.training._updates import ADAM, ADAMW, MOMENTUM, NESTEROV, SGD, Stage, Update
from certgrad.training.certificate import StepCertificate, decode, encode

__all__ = [
    "ADADELTA",
    "ADAGRAD",
    "ADAM",
    "ADAMAX",
    "ADAMW",
    "AMSGRAD",
    "CLIP",
    "CLIP_BY_GLOBAL_NORM",
    "DECAY",
    "LAMB",
    "LION",
    "MOMENTUM",
    "NADAM",
    "NADAMW",
    "NESTEROV",
    "RMSPROP",
    "SGD",
    "SIGN_SGD",
    "YOGI",
    "Batch",
    "Context",
    "DamagedLogWarning",
    "Data",
    "EarlyStop",
    "Entry",
    "Log",
    "LogError",
    "Run",
    "Stage",
    "StepCertificate",
    "StepNotCertifiedError",
    "TrainingLog",
    "TrainingStep",
    "Update",
    "certify_step",
    "curves",
    "decode",
    "encode",
    "from_optax",
    "prove_kept",
    "prove_update",
    "read_log",
    "render",
    "train",
    "training_step",
]
