"""Why a script is slow, host side: its folder comes in, rounds of runs go out."""
