def install(run):
    pass
