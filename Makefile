# The front door. Everything here delegates: packages to scripts/install-deps.sh, building to CMake's presets,
# tests to scripts/run-tests.sh. `make help` lists the targets.

PREFIX ?= /usr/local
# How long `make fuzz` runs each target.
SECONDS ?= 600
# How many seeds `make check-seeds` tries.
COUNT ?= 10
# What `make run` shows: a passage by the built-in model, or, where there is none, a graph from its text to its numbers.
DEMO ?= $(if $(wildcard models/shakespeare.gguf),demo,graph run examples/graphs/bitlinear.tern --show)

SOURCES = $(shell find include src cli tests tools bench examples -name '*.[ch]')

.DEFAULT_GOAL := help
.PHONY: help run test build examples bench bench-power bench-train model check-kills check-seeds performance check-all fuzz golden-update generate format lint install clean deps
# Targets call each other's tools; CMake does the building in parallel.
.NOTPARALLEL:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## install what is missing, build, show what it can do
	@echo
	build/tern $(DEMO)

test: deps ## build and run every test; the last line is the total
	@scripts/install-deps.sh test
	@scripts/build.sh release
	@scripts/run-tests.sh build

build: deps ## build the library and the program build/tern
	@scripts/build.sh release tern_static tern_shared tern_program

examples: deps ## build the C programs of examples/ into build/examples
	@scripts/build.sh release examples

bench: deps ## run the benchmarks, write build/bench.json
	@scripts/install-deps.sh bench
	@scripts/build.sh release
	@scripts/run-bench.sh build

bench-power: deps ## how often `tern compare` is right here; minutes; build/power.json
	@scripts/build.sh release compare_power
	@TERN_TUNING=off build/bench/compare_power --out build/power.json

bench-train: deps ## a training step beside the f32 peak and PyTorch; writes build/bench-train.json
	@scripts/install-deps.sh torch || echo "no PyTorch: the step is compared with the machine only"
	@scripts/build.sh release train_step
	@TERN_TUNING=off TERN_PYTHON=$$(scripts/find-python.sh) build/bench/train_step --json build/bench-train.json

model: build ## train the built-in model again, 53 minutes (DATA, OUT: models/shakespeare.md)
	@scripts/train-model.sh "$(DATA)" "$(OUT)"

check-kills: deps ## kill 200 writers of baselines and of checkpoints each, look for damage
	@scripts/build.sh release tests_measure_test_baseline tests_train_test_checkpoint
	@TERN_TEST_KILLS=200 build/tests/measure/test_baseline killed
	@TERN_TEST_KILLS=200 build/tests/train/test_checkpoint killed

check-seeds: deps ## tests of kernels, passes and graphs with COUNT (10) fresh seeds
	@scripts/install-deps.sh test
	@scripts/build.sh release
	@scripts/check-seeds.sh build $(COUNT)

performance: build ## measure every operation, write docs/performance.md
	@TERN_TUNING=off build/tern bench ops --markdown >build/performance.md && mv build/performance.md docs/performance.md

check-all: deps ## tests under ASan+UBSan, TSan, clang + fuzz, aarch64 (qemu)
	@scripts/install-deps.sh test check
	@scripts/check-all.sh

fuzz: deps ## every fuzz target for SECONDS (600) each; what they learn stays in build/fuzz
	@scripts/install-deps.sh test check
	@TERN_FUZZ_SECONDS=$(SECONDS) scripts/check-all.sh fuzzers

golden-update: deps ## rewrite expected outputs from what the build does now
	@scripts/install-deps.sh test
	@scripts/build.sh release
	-@TERN_GOLDEN_UPDATE=1 scripts/run-tests.sh build --only c,shell,python
	@git status --short tests docs

generate: ## rewrite committed files that come from tables
	@scripts/generate.sh

format: ## format all C sources with clang-format
	@scripts/install-deps.sh check
	clang-format -i $(SOURCES)

lint: build ## run clang-tidy over the library and the program
	@scripts/install-deps.sh lint
	@find src cli -name '*.c' | xargs -n 1 -P 2 scripts/lint.sh build

install: build ## install into PREFIX (/usr/local), without debug information; honours DESTDIR
	@cmake --install build --strip --prefix $(PREFIX) >build/install.log || { cat build/install.log; exit 1; }
	@scripts/after-install.sh build

clean: ## remove everything that was built
	rm -rf build

deps: ## install the packages that the core needs
	@scripts/install-deps.sh core
