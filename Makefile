# The whole developer's loop; CI calls the same targets. Nothing outside the checkout is written.
.DEFAULT_GOAL := help
.PHONY: help build check test fix docs bench demo clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DISKSPD := target/release/diskspd
# maturin finds the interpreter by this.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

help: ## Show this list.
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

$(BIN)/.ready: requirements-dev.txt
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "Python's venv module is missing: install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

build: $(BIN)/.ready ## Build target/release/diskspd and .venv/bin/fathom.
	cargo build --release --locked -p diskspd
	$(BIN)/maturin develop --quiet --release --locked

check: $(BIN)/.ready ## Everything that can be told without running the product.
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
	cargo run --quiet --locked -p xtask -- tidy
	cargo run --quiet --locked -p xtask -- check-generated
	$(BIN)/ruff format --check python tests/python
	$(BIN)/ruff check python tests/python
	$(BIN)/mypy

test: $(BIN)/.ready ## All tests.
	cargo test --locked --no-fail-fast
	$(BIN)/maturin develop --quiet --locked
	$(BIN)/pytest

fix: $(BIN)/.ready ## Format, and apply what the linters can repair.
	cargo fmt --all
	cargo clippy --workspace --all-targets --fix --allow-dirty --allow-staged
	cargo run --quiet -p xtask -- generate
	$(BIN)/ruff check --fix python tests/python
	$(BIN)/ruff format python tests/python

docs: ## Generate reference, manual page, usage and schema; build the API documentation.
	cargo run --quiet --locked -p xtask -- generate
	cargo doc --workspace --no-deps --locked --quiet

bench: ## The cost of the tool itself, against fio's if it is there.
	cargo build --release --locked -p diskspd
	benches/null_engine.sh $(DISKSPD)

demo: ## A mixed random load on a scratch file, with a result to read.
	cargo build --release --locked -p diskspd
	@scripts/demo.sh $(DISKSPD)

clean: ## Remove what was built.
	cargo clean
	rm -rf $(VENV)
