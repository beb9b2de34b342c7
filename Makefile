# Thin front of the CMake build: `make run` and `make test` do everything from a fresh
# clone on. Release build in build/, others in build-<variant>/.

JOBS ?= $(shell nproc)
PORT ?= 6379
FUZZ_SECONDS ?= 600
PREFIX ?= /usr/local
BENCH_OUT = --markdown build/bench.md --json build/bench.json --html build/bench.html
MIXED_OUT = --markdown build/mixed.md --json build/mixed.json

.PHONY: build help deps run test exhaustive band differential fuzz asan tsan stress linear hostile coverage bench bench-full plots profile ablation format install clean
.DEFAULT_GOAL := build
.NOTPARALLEL: # deps first, then build; the parallel work is Ninja's

build: ## build everything, tests too, into build/
	@cmake --preset release >build.log 2>&1 || { cat build.log; exit 1; }; rm -f build.log
	@cmake --build build -j $(JOBS) $(if $(TARGET),--target $(TARGET))

help: ## this list
	@awk -F ':.*## ' '/^[a-z -]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

deps: ## install the Debian packages that are missing (scripts/packages.txt)
	@scripts/deps build run test

run: ## start the server (PORT=6379) with data/cities.csv loaded
	@scripts/deps build run
	@$(MAKE) --no-print-directory build TARGET=programs
	@PORT=$(PORT) exec scripts/run

test: deps build ## the whole test suite
	@ctest --test-dir build -j 2 --output-on-failure

exhaustive: deps build ## every cell index of both axes, and `make band` (minutes)
	@cmake --build build --target exhaustive

band: deps build ## 50 million points on the edge of shapes, in all kernels
	@cmake --build build --target band

differential: deps build ## long comparison with Debian's redis-server
	@YN_LONG=1 YONDER_BIN_DIR=$(CURDIR)/build \
	    /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/wire/test_differential.py \
	    tests/wire/test_differential_values.py

fuzz: ## each fuzz target for FUZZ_SECONDS (600) in turn
	@scripts/deps build run test fuzz
	@cmake --preset fuzz
	@cmake --build build-fuzz -j $(JOBS)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz build-fuzz

asan tsan: deps ## the suite under ASan and UBSan, or under TSan
	@cmake --preset $@
	@cmake --build build-$@ -j $(JOBS)
	@ctest --test-dir build-$@ -j 2 --output-on-failure

stress: deps ## all commands at once on a TSan server with 4 threads (10 minutes)
	@cmake --preset tsan
	@cmake --build build-tsan -j $(JOBS) --target yonder-server stress
	@YONDER_BIN_DIR=build-tsan tests/stress/run.py --threads 4 --seconds 600 \
	    --patience 120 --keep-log build-tsan/stress.log $(STRESS)

linear: deps build ## are histories linearizable? (10 minutes)
	@tests/linear/run.py --seconds 200 --threads 1 2 4 --keep-log build/linear.log $(LINEAR)

hostile: deps ## 100,000 hostile byte streams on an ASan server (10 minutes)
	@cmake --preset asan
	@cmake --build build-asan -j $(JOBS) --target yonder-server
	@ASAN_OPTIONS=abort_on_error=1:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	    YONDER_BIN_DIR=build-asan tests/hostile/run.py --streams 100000 --threads 4 --verbose \
	    --keep build-asan/hostile $(HOSTILE)

coverage: ## the suite with gcov; fails under 90 % of core and resp
	@scripts/deps build run test coverage
	@cmake --preset cov
	@cmake --build build-cov -j $(JOBS)
	@scripts/coverage build-cov

bench: build ## compare with redis-server on 5 million points (10 minutes)
	@scripts/deps build run test
	@build/yonder-bench compare --points 5M --duration 0.6 $(BENCH_OUT) $(BENCH)
	@$(if $(BENCH),,build/yonder-bench mixed --points 5M $(MIXED_OUT))

bench-full: build ## the same on 60,841,557 points (10 GB of memory)
	@scripts/deps build run test
	@build/yonder-bench compare --points 60841557 $(BENCH_OUT) $(BENCH)
	@$(if $(BENCH),,build/yonder-bench mixed --points 60841557 --radius 200 --rounds 10 $(MIXED_OUT))

profile: ## flame graph and shares of a row of the benchmark (ROW=..., POINTS=1M)
	@scripts/deps build run profile
	@cmake --preset profile >build.log 2>&1 || { cat build.log; exit 1; }; rm -f build.log
	@cmake --build build-profile -j $(JOBS) --target yonder-server yonder-bench
	@scripts/profile "$(ROW)" $(if $(POINTS),--points $(POINTS)) \
	    $(if $(PROFILER),--profiler $(PROFILER))

ablation: build ## what each technique is worth, as a table (POINTS=1M; 10 minutes)
	@scripts/deps build run profile
	@scripts/ablation $(if $(POINTS),--points $(POINTS)) $(ABLATION)

plots: build ## how cost grows: the plots of docs/plots (POINTS=5M)
	@scripts/deps build run test
	@build/yonder-bench compare --suite growth --points $(or $(POINTS),5M) --json build/growth.json $(BENCH)
	@scripts/plot_growth build/growth.json

format: ## put every source file into the format of .clang-format
	@scripts/check_format --fix

install: build ## install programs, library and header (PREFIX=/usr/local, DESTDIR=)
	@cmake --install build --prefix $(PREFIX)

clean: ## remove all build folders
	@rm -rf build build-asan build-tsan build-cov build-fuzz build-profile build-ablation
