"""The cases of ../two_gpus.py."""
