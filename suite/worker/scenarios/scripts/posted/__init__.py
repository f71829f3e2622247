"""The scripts of the asked cases, as people post them: literally what is timed, a file a case.

Each is one function whose lines stand in the script's order.  It is called once, in a process that has done
nothing before, and has nothing between its timer's two ends that such a script has not.
"""
