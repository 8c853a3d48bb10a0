# The front door. Everything here delegates: packages to scripts/install-deps.sh, building to CMake's presets,
# tests to scripts/run-tests.sh. `make help` lists the targets.

PREFIX ?= /usr/local
# What `make run` shows.
DEMO ?= graph run examples/graphs/bitlinear.tern --show

SOURCES = $(shell find include src cli tests tools bench examples -name '*.[ch]')

.DEFAULT_GOAL := help
.PHONY: help run test build bench check-all golden-update generate format lint install clean deps
# Targets call each other's tools; CMake does the building in parallel.
.NOTPARALLEL:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## install what the core needs, build, and run the example graph end to end
	@echo
	build/tern $(DEMO)

test: deps ## build and run every test; the last line is the total
	@scripts/install-deps.sh test
	@scripts/build.sh release
	@scripts/run-tests.sh build

build: deps ## build the library and the program build/tern
	@scripts/build.sh release tern_static tern_shared tern_program

bench: deps ## run the benchmarks, write build/bench.json
	@scripts/install-deps.sh bench
	@scripts/build.sh release
	@scripts/run-bench.sh build

check-all: deps ## run the tests under ASan+UBSan, TSan, clang and its fuzzers, and on aarch64 (qemu)
	@scripts/install-deps.sh test check
	@scripts/check-all.sh

golden-update: deps ## rewrite the expected outputs of golden tests from what the build does now
	@scripts/install-deps.sh test
	@scripts/build.sh release
	-@TERN_GOLDEN_UPDATE=1 scripts/run-tests.sh build --only c,shell,python
	@git status --short tests docs

generate: ## rewrite the committed files that come from tables (docs/ops.md, <tern/ops.h>, ...)
	@scripts/generate.sh

format: ## format all C sources with clang-format
	@scripts/install-deps.sh check
	clang-format -i $(SOURCES)

lint: build ## run clang-tidy over the library and the program (.clang-tidy says what it looks for)
	@scripts/install-deps.sh lint
	@find src cli -name '*.c' | xargs -n 1 -P 2 scripts/lint.sh build

install: build ## install into PREFIX (default /usr/local; DESTDIR is honoured)
	cmake --install build --prefix $(PREFIX)

clean: ## remove everything that was built
	rm -rf build

deps: ## install the packages that the core needs, if any are missing
	@scripts/install-deps.sh core
