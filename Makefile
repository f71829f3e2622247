# Makes an environment, and calls nox or `python -m suite` in it.

PYTHON ?= python3
VENV := .venv
# By its path from here, which may have any letters in it; a script's first line may not, so what is run is
# `python -m`.
PY := $(VENV)/bin/python
# Each of these is also an option of `python -m suite bench`, spelled --like-this; CONTRIBUTING.md has the developers'.
BENCH := PROFILE ARMS VERSIONS GPU ONLY BLOCKS BUDGET SUSTAIN CPUS TYPE PRICE LABEL RESULTS RESUME EVIDENCE RECHECK STOP_IF WAIT ENGINE BASE_IMAGE CUDA_IMAGE LOCAL_PYTHON
# So is each of these of `python -m suite why`.
WHY := SCRIPT ARGS DATA REQUIREMENTS INCLUDE_SCRIPT ARMS BUDGET CPUS GPU PRICE LABEL RESULTS WAIT ENGINE BASE_IMAGE CUDA_IMAGE LOCAL_PYTHON
DEVELOPERS := SEED TELEMETRY REQUIRE_ENGINE PYTHON
KNOWN := $(BENCH) $(filter-out $(BENCH),$(WHY)) RUN ROWS PAIRS SLOWER CELL PRICES REQUIRE OUT KEY JSON TENSORFLOW KERAS

unknown := $(strip $(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $v))),$(filter-out $(KNOWN) $(DEVELOPERS) RUNS,$v))))
ifneq ($(unknown),)
$(error unknown variable $(unknown); known are: $(KNOWN))
endif

# What would change nothing elsewhere.
said = $(filter command,$(firstword $(origin $1)))
ifneq ($(call said,TENSORFLOW)$(call said,KERAS),)
ifneq ($(filter-out lock,$(MAKECMDGOALS)),)
$(error TENSORFLOW and KERAS are for make lock; a version is measured as an arm, as in ARMS="cpu cpu@2.20")
endif
ifeq ($(strip $(value TENSORFLOW)$(value KERAS)),)
$(error TENSORFLOW and KERAS are empty; make lock without them resolves every lock anew)
endif
endif
ifneq ($(call said,VERSIONS),)
ifneq ($(filter-out bench,$(MAKECMDGOALS)),)
$(error VERSIONS is for make bench; elsewhere name the arms, as in ARMS="cpu cpu@2.20")
endif
ifeq ($(strip $(value VERSIONS)),)
$(error VERSIONS is empty; name two at least, as in VERSIONS="2.20 2.21", or leave it out)
endif
endif

# Another spelling of RUN, for several campaigns.
ifdef RUNS
RUN := $(value RUNS)
endif

# Many a shell exports these for ends of its own.
$(foreach v,KEY SCRIPT ARGS DATA REQUIREMENTS TENSORFLOW KERAS VERSIONS,$(if $(filter command,$(firstword $(origin $v))),,$(eval $v :=)))

text = '$(subst ','\'',$1)'
# As it was given: a $ in it is a letter.
quote = $(call text,$(value $1))
lower = $(shell printf %s '$1' | tr A-Z_ a-z-)
given = $(foreach v,$1,$(if $(strip $(value $v)),--$(call lower,$v) $(call quote,$v)))
nox = $(PY) -m nox -s $1 --
# What pip says is for nobody, unless it fails: then all of it.
install = $(PY) -m pip install --disable-pip-version-check --progress-bar=off --require-hashes --no-deps -r $1 >$(VENV)/pip.log 2>&1 \
	|| { cat $(VENV)/pip.log >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: bench why report compare list doctor clean help check bundle defend accept paper export fleet images base test lint generate sample lock

#: For a start

bench: $(VENV)/host.stamp ## build or reuse the images, run the suite, write the report (VERSIONS="2.20 2.21": which part became slower? RECHECK=results/X: five cells of it again)
	@$(call nox,bench) $(call given,$(BENCH) SEED TELEMETRY)

why: $(VENV)/host.stamp ## why is your own SCRIPT=train.py slow, and what would help? (ARGS, DATA, REQUIREMENTS, BUDGET=10m)
	@$(call nox,why) $(call given,$(WHY) SEED TELEMETRY)

report: $(VENV)/host.stamp ## rebuild the report of RUN=results/X from its documents
	@$(call nox,collate) $(call quote,RUN)

compare: $(VENV)/host.stamp ## campaigns beside each other: RUN="results/X results/Y" (ROWS, PAIRS, SLOWER=5, CELL, PRICES, OUT)
	@$(PY) -m suite compare $(foreach r,$(value RUN),$(call text,$r)) $(call given,ROWS PAIRS SLOWER CELL PRICES OUT)

list: $(VENV)/host.stamp ## every cell: id, profile, work, the question it answers (ONLY, PROFILE; JSON=1: for programs)
	@$(PY) -m suite list $(call given,ONLY PROFILE) $(if $(JSON),--json)

doctor: $(VENV)/host.stamp ## what this machine can run and why not, with remedies, and what it should give (TYPE=g5.xlarge; JSON=1: for programs)
	@$(call nox,doctor) $(call given,ENGINE BASE_IMAGE CUDA_IMAGE LOCAL_PYTHON ARMS GPU TYPE RESULTS) $(if $(JSON),--json)

clean: ## remove what this project made: containers, images, volumes by label, and .venv; never results
	@if [ -x $(PY) ]; then $(PY) -m suite clean; fi
	rm -rf $(VENV)

help: ## list the commands
	@awk -F ':.*## ' '/^#: / { print (n++ ? "\n" : "") substr($$0, 4) ":" } /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo; echo "Variables of make bench, as in make bench PROFILE=verdict (docs/guide.md says what each means):"; echo "  $(BENCH)"
	@echo; echo "Of make why, as in make why SCRIPT=train.py:"; echo "  $(WHY)"

#: For an evaluation, and for many machines

check: $(VENV)/host.stamp ## rebuild RUN=results/X, or a bundle, from its documents and compare (KEY: file of allowed signers)
	@$(PY) -m suite check $(call quote,RUN) $(call given,KEY)

bundle: $(VENV)/host.stamp ## RUN=results/X as one private file to attach (KEY: signs it, OUT)
	@$(PY) -m suite bundle $(call quote,RUN) $(call given,KEY OUT)

defend: $(VENV)/host.stamp ## one page with the evidence for one CELL of RUN=results/X (OUT)
	@$(PY) -m suite defend $(call quote,RUN) $(call quote,CELL) $(call given,OUT)

accept: $(VENV)/$(if $(OUT),paper,host).stamp ## does RUN=results/X meet a sheet of requirements (REQUIRE=contract.toml, OUT)? pass, fail or undecided
	@$(PY) -m suite accept $(call quote,RUN) $(call given,REQUIRE OUT)

paper: $(VENV)/paper.stamp ## the report of RUN=results/X as a PDF and as a Word document (OUT)
	@$(PY) -m suite paper $(call quote,RUN) $(call given,OUT)

export: $(VENV)/host.stamp ## RUN=results/X for other programs: CSV, pyperf's JSON and, with DuckDB, Parquet (OUT)
	@$(PY) -m suite export $(call quote,RUN) $(call given,OUT)

fleet: $(VENV)/host.stamp ## what came home of each machine of a fleet, and why not all (RESULTS=results/fleet)
	@$(PY) -m suite fleet $(if $(RESULTS),$(call quote,RESULTS))

#: For developers

images: $(VENV)/host.stamp ## build the images only
	@$(call nox,build) $(call given,ARMS ENGINE BASE_IMAGE CUDA_IMAGE LOCAL_PYTHON)

base: $(VENV)/host.stamp ## make a stand-in base image from Debian packages (needs root and debootstrap; ARMS: those that these need)
	@$(PY) -m suite base $(call given,ARMS)

test: $(VENV)/dev.stamp ## run every test that this machine can run (REQUIRE_ENGINE=1: a missing engine fails)
	@REQUIRE_ENGINE=$(call quote,REQUIRE_ENGINE) BASE_IMAGE=$(call quote,BASE_IMAGE) $(call nox,tests)

lint: $(VENV)/dev.stamp ## check the style, the types and the rooms
	@$(call nox,lint)

generate: $(VENV)/dev.stamp ## regenerate the files made from the code: docs/cells.md, the schemas, the sample in the README
	@$(call nox,generate)

# The plan names the commit, so tracked files stay as they are until the new sample is there.
sample: $(VENV)/dev.stamp ## measure the committed sample campaign anew (when the schema has changed)
	@test -z "$$(git status --porcelain --untracked-files=no)" || { echo "files differ from the commit, which the sample names: commit or stash them first" >&2; exit 1; }
	@rm -rf results/new-sample
	@$(call nox,bench) --results results/new-sample --label sample --blocks 5 $(call given,BASE_IMAGE SEED)
	@test -f results/new-sample/*-sample-standard/summary.json
	@rm -rf results/samples/*-sample-standard
	@mv results/new-sample/*-sample-standard results/samples/
	@rm -rf results/new-sample
	@$(call nox,generate)

lock: $(VENV)/dev.stamp ## resolve the hash locks anew, or make those of one more version's arms (TENSORFLOW=2.18 or KERAS=3.12)
	@$(call nox,lock) $(call given,TENSORFLOW KERAS)

$(VENV)/venv.stamp:
	@case "$$PWD" in *:*) echo "this checkout's path has a colon in it ($$PWD), and no virtual environment can be made in such a path: move it" >&2; exit 1;; esac
	@$(call quote,PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or newer is needed; name one with PYTHON=…" >&2; exit 1; }
	@$(call quote,PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "python3-venv is missing: sudo apt-get install python3-venv" >&2; exit 1; }
	@test -w . || { echo "this checkout can't be written, and $(VENV) is made in it: run make once where it can be, or copy it" >&2; exit 1; }
	@$(call quote,PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/host.stamp: requirements/host.txt | $(VENV)/venv.stamp
	@echo "setting up $(VENV) (once)" >&2
	@$(call install,$<)
	@touch $@

$(VENV)/parquet.stamp $(VENV)/paper.stamp: $(VENV)/%.stamp: requirements/%.txt $(VENV)/host.stamp
	@echo "setting up what $* needs in $(VENV) (once)" >&2
	@$(call install,$<)
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt $(VENV)/host.stamp
	@echo "setting up the tests' tools in $(VENV) (once)" >&2
	@$(call install,$<)
	@touch $@
