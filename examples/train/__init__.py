"""Training with certified steps: each example prints its certificate, trains, and draws its curves.

python -m examples.train.digits mlp --folder run

They need `pip install 'certgrad[train]'`, and the digits scikit-learn.
"""

import argparse
from pathlib import Path

import certgrad
from certgrad.training import curves, render


def told(step, start, data, steps, **options):
    """Print the certificate; train, in a folder if one is given; print the log and draw it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, help="for the log, checkpoints and curves; a run in it goes on")
    parser.add_argument("--steps", type=int, default=steps, help=f"to take in all (default: {steps})")
    chosen, _ = parser.parse_known_args()
    print(render(step.certificate))
    print(step)
    run = certgrad.train(step, start, data, steps=chosen.steps, folder=chosen.folder, log_every=100, **options)
    print(run.log)
    print(run.ended)
    if chosen.folder is not None:
        print(curves(run.log, chosen.folder / "curves.png"))
    return run
