# SPDX-License-Identifier: Apache-2.0
"""inductop's agent: lives inside a training process, watches torch.compile and switches its settings at step boundaries.

Rules of the house: the job trains as it would without us; every error of ours ends in `core.shield`; everything that belongs to the
job is held weakly; standard library only, torch through what the job has imported.
"""
