"""Training: updates, epochs, schedules, optimizers, checkpoints, logs."""
