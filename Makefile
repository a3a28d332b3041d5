# The whole developer's loop; CI calls the same targets, and each does its own set-up.
# What is built and what tools remember stays in the checkout. Only cargo keeps its downloads where it
# always does (CARGO_HOME).
.DEFAULT_GOAL := help
.PHONY: help build check check-rust check-lab test test-kernel test-engine fresh fuzz sanitize fix docs bench bench-start demo soak false-alarms statistics sbom audit clean dist dist-check dist-test dist-guard dist-table release

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DISKSPD := target/release/diskspd
# Built together with all tests, it shares what it is made of with them.
XTASK := $${CARGO_TARGET_DIR:-target}/debug/xtask
# With the features that tests turn on, the documentation and the binding share what is built for them.
AS_IN_TESTS := fathom-storage-py/as-in-tests
DEVELOP := $(BIN)/maturin develop --quiet --locked --features as-in-tests
PYTHON_CODE := benches docs fuzz python scripts tests/python
SOAK_SECONDS ?= 300
KILLS ?= 200
EXCHANGES ?= 10000
HUNT_SECONDS ?= 300
SETS ?= 10000
FAULTS ?= 20
SEEDS ?= 5000000
TIMES ?= 10
EXPERIMENTS ?= 5
SEED_SECONDS ?= 600
FUZZ_SECONDS ?= 20
# 0 draws other choices each time.
FUZZ_SEED ?= 0
# Tests measure real devices, too, and more of them at once would disturb each other; those on the kernel
# see to it themselves (tests/kernel/turns.rs).
TEST_PROCESSES ?= 3
TEST_THREADS ?= 6
# Tests of a time or rate that others' load would change; the rest, whatever comes to it, computes.
TIMED := alone net remote
COMPUTED := $(filter-out kernel $(TIMED),$(patsubst tests/%/main.rs,%,$(wildcard tests/*/main.rs)))
CARGO_TEST := env -u MAKEFLAGS RUST_TEST_THREADS=$(TEST_THREADS) cargo test --workspace --locked --no-fail-fast
SCRATCH ?= target
SUITES ?= bookworm trixie
# maturin finds the interpreter by this.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PIP_NO_CACHE_DIR := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start Python hundreds of times, which need not compile all of the lab each time.
unexport PYTHONDONTWRITEBYTECODE

help: ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

# Made from nothing each time, so that it holds what is pinned and no more: what the lab needs, or all tools.
$(BIN)/.lab: requirements.txt
	$(call environment,requirements.txt)
	touch $@

$(BIN)/.ready: requirements-dev.txt
	$(call environment,requirements-dev.txt)
	touch $(BIN)/.lab $@

# What the description of the API is tested with wants other versions of what the lab has.
target/openapi/.ready: requirements-openapi.txt
	$(PYTHON) -m venv --clear target/openapi
	target/openapi/bin/pip install --quiet --require-hashes --no-deps -r $<
	touch $@

define environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed; name one with PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "Python's venv module is missing: install python3-venv"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r $(1)
endef

build: $(BIN)/.ready ## Build target/release/diskspd and .venv/bin/fathom.
	cargo build --release --locked --bin diskspd
	$(BIN)/maturin develop --quiet --release --locked
	$(BIN)/python -c 'from fathom.report.render._bundle import build; build()'

check: check-rust check-lab ## Everything that can be told without running the product (both halves at once with -j2).

# The lab's environment may be in the making at the same time, and checking the binding needs no Python.
check-rust: export PYO3_NO_PYTHON := 1
check-rust:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet --features $(AS_IN_TESTS)
	cargo metadata --quiet --locked --format-version 1 --manifest-path fuzz/Cargo.toml > /dev/null
	cargo build --workspace --quiet --locked --bins --tests
	$(XTASK) tidy
	$(XTASK) check-generated

check-lab: $(BIN)/.ready
	$(BIN)/ruff format --check $(PYTHON_CODE)
	$(BIN)/ruff check $(PYTHON_CODE)
	$(BIN)/mypy
	$(BIN)/python scripts/supply_chain.py
	$(BIN)/python scripts/lab_requirements.py --check

test: $(BIN)/.ready target/openapi/.ready ## All tests; as root also those that need loop devices and mounts.
	cargo test --workspace --locked --no-run
	@echo "Tests on the kernel, and beside them those that compute: each kind is shown when it is through, in some minutes."
	$(MAKE) --jobs=2 --keep-going --output-sync=target --no-print-directory test-kernel test-engine
	$(CARGO_TEST) --lib linux::
	$(CARGO_TEST) $(addprefix --test=,$(TIMED))
	$(DEVELOP)
	$(BIN)/pytest --numprocesses=$(TEST_PROCESSES) --dist=worksteal -m "not alone"
	$(BIN)/pytest -m alone $$(grep -l 'mark\.alone' tests/python/test_*.py)

# What waits for runs on the kernel leaves a third of the CPUs' time, which what only computes takes meanwhile, at low priority.
# The calls of Linux are no such thing: who has no CPU for a second loses records of the kernel.
test-kernel:
	$(CARGO_TEST) --test=kernel

test-engine:
	nice -n 19 $(CARGO_TEST) --lib --bins $(addprefix --test=,$(COMPUTED)) -- --skip linux::
	nice -n 19 $(CARGO_TEST) --doc

# `make test` reads the committed corpus again; this looks for what is not in it.
fuzz: $(BIN)/.ready ## Fuzz all readers, beginning with the committed corpus (FUZZ_SECONDS=20 each).
	$(DEVELOP)
	$(BIN)/python scripts/fuzz.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

fix: $(BIN)/.ready ## Format, apply what the linters can repair, and regenerate.
	cargo clippy --workspace --all-targets --fix --allow-dirty --allow-staged --locked
	cargo fmt --all
	cargo run --quiet --locked -p xtask -- generate
	$(BIN)/ruff check --fix $(PYTHON_CODE)
	$(BIN)/ruff format $(PYTHON_CODE)

docs: $(BIN)/.ready ## Generate reference, manual page, usage and schema; build the API documentation and target/site.
	cargo run --quiet --locked -p xtask -- generate
	cargo doc --workspace --no-deps --locked --quiet
	$(DEVELOP)
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs target/site
	@echo "The site: target/site/index.html"

bench: ## Speed and cost beside fio and bare loops, interleaved (BENCH="--case zram-32-fio --pairs 9").
	cargo build --release --locked --bin diskspd
	@$(PYTHON) benches/bench.py --diskspd $(DISKSPD) $(BENCH)

bench-start: build ## How long the commands of the lab take to begin, beside a Python that does nothing.
	@$(BIN)/python benches/start.py --strict

demo: $(BIN)/.lab ## Assess a scratch file: what this storage is good for, in words (SCRATCH=target).
	$(BIN)/maturin develop --quiet --profile demo --locked
	@mkdir -p target $(SCRATCH)
	@FATHOM_STORE=target/demo.sqlite $(BIN)/fathom assess --time 50s --size 512M $(SCRATCH)

$(BIN)/.dist: requirements-dist.txt $(BIN)/.ready
	$(BIN)/pip install --quiet --require-hashes --no-deps -r requirements-dist.txt
	touch $@

# What is built here asks this checkout's own lab for its commands; how fast that lab is does not matter.
dist: $(BIN)/.dist ## All that people install, in target/dist (DIST="--arch x86_64 --only gnu --profile quick").
	$(DEVELOP)
	$(BIN)/python -c 'from fathom.report.render._bundle import build; build()'
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/dist/build.py $(DIST)

# The second folder's path is longer, and libblkid is built in each, too.
dist-check: dist ## Build all of `make dist` once more in another folder, and compare every byte (DIST= as for dist).
	cargo check --quiet --locked --package fathom-storage --no-default-features
	rm -rf target/second
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/dist/build.py \
		--out target/second/dist --work target/second/folder/with/longer/path $(DIST)
	diff -r --exclude='*.minisig' target/dist target/second/dist
	@bash -c '. scripts/dist/log.sh; forget dist-check; note target/dist/SHA256SUMS \
		"dist-check: both builds are equal, byte for byte: $$(ls target/dist | wc -l) files"'

dist-test: ## Install and use each artefact in a clean root file system (needs root and mmdebstrap).
	scripts/dist/try.sh target/dist

dist-guard: $(BIN)/.dist ## The whole guard suite with the static binary of `make dist` (needs root).
	scripts/dist/guard.sh target/dist

dist-table: ## The table of what was built: sizes, needs, the line of each test (TABLE="--write docs/artefacts.md").
	@$(PYTHON) scripts/dist/table.py target/dist $(TABLE)

release: $(BIN)/.ready ## Hold VERSION to tag, manifests and changelog; write the notes.
	$(BIN)/python scripts/release.py $(VERSION)

fresh: ## Both commands of the README on a minimal Debian, as a normal user (SUITES="bookworm trixie"; needs root).
	@for suite in $(SUITES); do scripts/fresh.sh $$suite || exit 1; done

soak: build fuzz ## All readers fuzzed (FUZZ_SECONDS each), drawn runs in one process (SOAK_SECONDS), killed commands, servers and clients (KILLS), exchanged names (EXCHANGES), whose data a file holds (HUNT_SECONDS), sentences of drawn results (SETS), times told on a simulated clock (TIMES), broken fleets (FAULTS of each kind; root), millions of simulated faults (SEEDS).
	$(BIN)/python scripts/soak.py --seconds $(SOAK_SECONDS)
	$(BIN)/python scripts/kills.py --count $(KILLS)
	$(BIN)/python scripts/remote_kills.py --count $(KILLS)
	$(BIN)/python scripts/exchanges.py --exchanges $(EXCHANGES)
	$(BIN)/python scripts/guard_hunt.py --seconds $(HUNT_SECONDS)
	$(BIN)/python scripts/guard_hunt.py --tables --seconds $(HUNT_SECONDS)
	$(BIN)/python tests/python/contradictions.py --count $(SETS)
	FATHOM_TIMES_TOLD=$(TIMES) $(BIN)/pytest -s tests/python/test_time_told.py
	$(BIN)/python tests/python/fleet_faults.py --rounds $(FAULTS)
	FATHOM_SEEDS=$(SEEDS) FATHOM_SEED_SECONDS=$(SEED_SECONDS) \
	  cargo test --release --locked -p fathom-storage --test sim seeds:: -- --nocapture

FALSE_ALARM_RUNS = -d1 -W0 -b4K -r -o4 -L --stop-ios=12000 -c64M target/false-alarms.dat
false-alarms: build ## How often compare finds a difference between equals, on runs recorded here.
	$(BIN)/python scripts/false_alarms.py record target/false-alarms.gz -- $(FALSE_ALARM_RUNS)
	$(BIN)/python scripts/false_alarms.py judge target/false-alarms.gz

# Only a nightly compiler has both. Miri runs what needs no call of the kernel that it does not know.
MIRI_TESTS := linux::cache linux::cpu linux::device linux::host linux::trace::disks
MIRI_SKIPPED := each_kind_is_told a_node_of_more_cpus
sanitize: ## The unsafe code under the address sanitizer, and under Miri where it can (nightly; for soaks).
	@rustup run nightly rustc --version || { echo "skipped: no nightly compiler is installed"; exit 1; }
	RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/sanitize cargo +nightly test --locked --lib \
		--target $$(rustc -vV | sed -n 's/^host: //p') -p fathom-storage-sys -p fathom-storage-core
	MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR=target/miri cargo +nightly miri test --locked \
		-p fathom-storage-sys --lib -- $(MIRI_TESTS) $(foreach one,$(MIRI_SKIPPED),--skip $(one))

statistics: $(BIN)/.ready ## How often intervals and verdicts are wrong, simulated; writes the tables of docs/statistics.md, and makes EXPERIMENTS times as many of the tests.
	$(DEVELOP)
	$(BIN)/python scripts/claims.py simulate
	FATHOM_EXPERIMENTS=$(EXPERIMENTS) $(BIN)/pytest --numprocesses=$(TEST_PROCESSES) $$(grep -l 'simulated import.*many' tests/python/test_*.py)

sbom: $(BIN)/.ready ## List all that is built in or installed with it, with licences (docs/sbom.cdx.json).
	$(BIN)/python scripts/lab_requirements.py
	$(BIN)/python scripts/supply_chain.py --write

audit: $(BIN)/.ready ## Known vulnerabilities of all that is locked, where their databases can be reached.
	$(BIN)/python scripts/audit.py

clean: ## Remove what was built and what tools remembered.
	cargo clean
	rm -rf $(VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache python/fathom/*.so
	find python scripts tests -name __pycache__ -type d -prune -exec rm -rf {} +
