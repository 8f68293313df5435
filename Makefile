# A thin front door to the cmake presets. `make help` lists what there is.
.PHONY: all build everything deps demo test test-quick test-asan torture bench screenshots install clean help

all: build

build: | .deps-build ## build build/inductop
	@cmake --preset default >build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }
	@cmake --build --preset default --target product

.PHONY: .deps-build .deps-torch .deps-test
.deps-build:
	@scripts/deps build
	@mkdir -p build
.deps-torch:
	@scripts/deps torch
.deps-test:
	@scripts/deps test

deps: ## install what is missing: system packages, torch, what the tests need
	@scripts/deps build && scripts/deps torch && scripts/deps test

demo: build .deps-torch ## train a real two-rank model under inductop, on a terminal on its screen
	@PATH="$$(scripts/deps python-bin):$$PATH" build/inductop demo

everything: build
	@cmake --build --preset default

test: everything .deps-torch .deps-test ## build and run every test
	@scripts/test all

test-quick: everything .deps-torch .deps-test ## the tests that take no minutes
	@scripts/test quick

test-asan: everything .deps-torch .deps-test ## our processes under the address and undefined-behaviour sanitizers
	@scripts/test asan

torture: everything .deps-torch .deps-test ## 100,000 random keys, sizes and worse for each kind of terminal, under the sanitizers
	@scripts/test torture

bench: everything .deps-torch .deps-test ## measure, and print what was measured
	@scripts/bench

screenshots: build ## make the pictures from tapes
	@screenshots/make.sh

install: build ## install to PREFIX (/usr/local)
	@cmake --install build --prefix "$${PREFIX:-/usr/local}"

clean: ## remove what was built
	rm -rf build build-asan build-clang build-tsan

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
