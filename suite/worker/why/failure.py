import traceback


def describe(error, file):
    return "".join(traceback.format_exception(error))


def describe_no_steps(steps):
    return f"no training step was seen ({steps})"


def describe_end(code):
    return f"ended with {code}"
