def install(run): pass
