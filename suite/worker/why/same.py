import math, re


def find_norm(groups):
    import numpy as np

    return math.sqrt(
        sum(float(np.sum(np.square(np.asarray(v, dtype="float64")))) for g in groups for v in g)
    )


def find_numbers(text):
    return [float(x) for x in re.findall(r"-?\d+\.\d+", text)][:200]
