/* common/other_list.h - options of llama.cpp, vLLM, Ollama and others, for the message about an unknown
 * option. A row has names without leading dashes, with - for _; a name that ends in * stands for all
 * names that begin so.
 * OTHER(names, ours)           our option with the same meaning
 * SAID(names, ours, sentence)  a message
 * A row applies if the program has the option `ours`; "" stands for every program. The
 * first such row counts. */

/* models */
SAID("hf hfr hf-repo", "--model", "a model of the hub is -m hf:ORG/REPO[:QUANT]")
SAID("hff hf-file", "--model", "a file of the hub is -m hf:ORG/REPO:FILE")
SAID("hft hf-token", "--model", "the hub's token is the variable HF_TOKEN")
SAID("offline", "--model", "with HF_HUB_OFFLINE=1 nothing is downloaded")
SAID("mu model-url", "--model", "a model of the hub is -m hf:ORG/REPO[:FILE-OR-QUANT]")
SAID("dr docker-repo", "--model", "Docker's registry is not read; of the hub: -m hf:ORG/REPO")
SAID("revision code-revision tokenizer-revision",
     "--model", "a revision of the hub is -m hf:ORG/REPO@REV")
SAID("download-dir insecure",
     "--model", "downloads are in the hub's cache: the variable HF_HUB_CACHE")
SAID("cl cache-list list models", "", "downloaded models are listed by: infer-inspect list")
SAID("models-* no-models-*", "--config", "several models are named in a file: --config FILE")
SAID("gpt-oss-* fim-qwen-* vision-gemma-* embd-gemma-default spec-default",
     "--model", "name the model: -m hf:ORG/REPO")
OTHER("model-path model-tag", "--model")
SAID("tokenizer tokenizer-mode skip-tokenizer-init", "--model", "the tokenizer is the model's own")
SAID("trust-remote-code", "--model", "no code of a model is ever run")
SAID("hf-config-path hf-overrides override-kv config-format model-class-overrides runner "
     "convert model-impl",
     "--model", "the model's metadata are used as they are")
SAID("load-format safetensors-* pt-load-map-location model-loader-extra-config "
     "use-tqdm-on-load ignore-patterns max-parallel-loading-workers",
     "--model", "the format of a model is read from its files")
SAID("quantize quantization quantization-config allow-deprecated-quantization",
     "--model", "weights are used as the file has them; infer-quant writes smaller ones")

/* sampling */
OTHER("temperature", "--temp")
OTHER("typical-p", "--typical")
OTHER("top-nsigma", "--top-n-sigma")
OTHER("dynatemp-exponent", "--dynatemp-exp")
OTHER("repetition-penalty penalty-repeat", "--repeat-penalty")
OTHER("penalty-last-n", "--repeat-last-n")
OTHER("sampler-seq sampling-seq", "--samplers")
OTHER("mirostat-lr", "--mirostat-eta")
OTHER("mirostat-ent", "--mirostat-tau")
OTHER("l", "--logit-bias")
OTHER("s", "--seed")
SAID("adaptive-target adaptive-decay", "--samplers", "the sampler adaptive-p is not supported")
SAID("bs backend-sampling use-fp64-gumbel enable-batch-sharded-sampling "
     "return-sampling-mask",
     "--samplers", "the samplers run on the CPU, in the order of --samplers")
SAID("generation-config override-generation-config",
     "--temp", "the model's generation_config.json is read; options such as --temp come before it")

/* lengths, batching, caches */
OTHER("n-predict num-predict predict n-gen max-new-tokens max-length", "--max-tokens")
OTHER("ctx-size num-ctx n-ctx context context-size context-length max-model-len", "--ctx")
OTHER("threads-batch tb num-threads num-thread n-threads", "--threads")
OTHER("batch-size ubatch-size num-batch b ub max-num-batched-tokens "
     "max-num-scheduled-tokens long-prefill-token-threshold "
     "long-prefill-token-threshold-adaptive",
     "--prefill-chunk")
OTHER("np n-parallel max-num-seqs max-num-active-seqs", "--parallel")
OTHER("batch parallel npl np", "--seqs")
SAID("np parallel*", "--lines", "requests of --batch and --lines are decoded together")
OTHER("max-num-queued-reqs", "--max-queue")
SAID("max-num-queued-tokens", "--max-queue", "a queue is limited by requests: --max-queue N")
SAID("cb cont-batching nocb no-cont-batching",
     "--threads", "requests are always batched as they come")
SAID("enable-chunked-prefill no-enable-chunked-prefill",
     "--prefill-chunk", "a long prompt is always read in pieces: --prefill-chunk N")
OTHER("cache-type-k cache-type-v ctk ctv kv-cache-dtype", "--kv-type")
OTHER("cache-ram cram kv-cache-memory-bytes", "--kv-bytes")
OTHER("swap-space kv-offloading-size", "--swap-bytes")
SAID("gpu-memory-utilization device-memory-utilization num-gpu-blocks-override watermark",
     "--kv-bytes", "the memory of the KV cache is --kv-bytes SIZE")
OTHER("no-cache-prompt no-enable-prefix-caching", "--no-prefix-cache")
SAID("cache-prompt enable-prefix-caching cache-reuse",
     "--no-prefix-cache", "prefixes are cached, unless --no-prefix-cache is given")
SAID("cache-idle-slots no-cache-idle-slots ctxcp ctx-checkpoints swa-checkpoints cms "
     "checkpoint-min-step sps slot-prompt-similarity prefix-caching-hash-algo "
     "prefix-cache-retention-interval prefix-match-unit",
     "--no-prefix-cache", "prefixes are cached in the KV cache: --kv-bytes is its size")
SAID("kv-unified-per-slot kvu kv-unified no-kvu no-kv-unified dt defrag-thold block-size "
     "swa-full swa-bounded-replay disable-sliding-window disable-hybrid-kv-cache-manager",
     "--threads", "the KV cache has pages, which all sequences share")
SAID("prompt-cache prompt-cache-all prompt-cache-ro slot-save-path",
     "--threads", "the KV cache is not stored in a file")
SAID("context-shift no-context-shift keep",
     "", "a full context ends the answer: nothing is shifted")
SAID("gan gaw grp-attn-n grp-attn-w", "", "self-extend is not supported")
SAID("rope-* yarn-*", "", "RoPE scaling is the model's own")
OTHER("dtype", "--act-type")

/* prompts, templates, reasoning */
OTHER("system-prompt sys", "--system")
SAID("system-file system-prompt-file sysf", "--system", "try --system \"$(cat FILE)\"")
OTHER("chat-template chat-template-file", "--template")
OTHER("chat-template-kwargs default-chat-template-kwargs", "--template-args")
SAID("jinja no-jinja chat-template-content-format",
     "--template", "templates are always rendered as Python's Jinja2 does")
OTHER("enable-thinking reasoning rea", "--think")
OTHER("reasoning-budget thinking-budget", "--think-budget")
SAID("reasoning-effort reasoning-effort-map anthropic-disabled-thinking-effort",
     "--template-args", "try --template-args '{\"reasoning_effort\":\"low\"}'")
SAID("reasoning-format reasoning-parser reasoning-parser-plugin reasoning-config "
     "hidethinking hide-thinking",
     "--think", "reasoning is found by the model's template and given apart from the answer")
SAID("reasoning-budget-message reasoning-preserve no-reasoning-preserve skip-chat-parsing "
     "no-skip-chat-parsing",
     "--think", "answers are parsed by the model's template")
SAID("prefill-assistant no-prefill-assistant",
     "--template", "a last message of the assistant is continued")
SAID("in-prefix in-prefix-bos in-suffix",
     "--template", "turns are made by the chat template: --template NAME|FILE")
OTHER("reverse-prompt stop-sequence stop-sequences r", "--stop")
OTHER("ppl perplexity", "--score")
OTHER("verbose-prompt", "--render")
OTHER("no-display-prompt display-prompt", "--echo")
OTHER("prompt-file in-file", "--file")
SAID("bf binary-file", "--raw", "try --raw -f FILE")
SAID("prompt p", "--lines", "the prompt is the arguments, or -f FILE")
SAID("e escape no-escape", "--lines", "a prompt is taken as it is; a shell's printf makes newlines")
SAID("spm-infill", "", "infill has the order that the model was trained with")
OTHER("sp", "--special")
SAID("ptc print-token-count", "--stats", "tokens are counted by --stats and in records")
OTHER("perf no-perf show-timings no-show-timings timings", "--stats")
OTHER("chat conversation cnv interactive interactive-first if", "-i")
SAID("no-cnv no-conversation st single-turn", "-i", "a prompt is answered once; -i is a chat")
SAID("mli multiline-input", "-i", "in a chat (-i), a line that ends in a backslash goes on")
SAID("simple-io nowordwrap", "-i", "a chat (-i) has no such setting")
SAID("co color colors", "-i", "colours are for terminals; the variable NO_COLOR takes them away")
SAID("image audio video mm mmproj mmproj-* mmu no-mmproj no-mmproj-* image-* video-* "
     "mtmd-* mm-* media-* limit-mm-per-prompt allowed-local-media-path "
     "allowed-media-domains interleave-mm-strings enable-mm-embeds skip-mm-profiling "
     "language-model-only disable-chunked-mm-input trust-request-mm-kwargs "
     "io-processor-plugin enable-prompt-embeds",
     "", "images, audio and video are not supported")

/* adapters */
SAID("lora-scaled", "--lora", "an adapter with a scale is --lora FILE=SCALE")
SAID("lora-base", "--lora", "an adapter is applied to the model of -m")
SAID("enable-lora", "--lora-dir",
     "adapters are given by --lora FILE, and loaded by clients with --lora-dir DIR")
SAID("enable-lora", "--lora", "adapters are given by --lora FILE")
SAID("lora-modules", "--lora-dir",
     "adapters with names are in the file of --config, or --lora FILE "
     "--lora-init-without-apply")
SAID("lora-modules", "--adapters",
     "requests use adapters in turn: --adapters NAME,NAME, or all")
SAID("lora-assignment", "--adapters", "requests use the adapters of --adapters in turn")
SAID("max-loras max-cpu-loras", "--lora", "the number and rank of adapters are "
     "those that are given")
SAID("lora-dtype fully-sharded-loras lora-extra-vocab-size lora-target-modules",
     "--lora", "adapters are computed as their files have them")
SAID("enable-tower-connector-lora enable-mixed-moe-* enable-moe-shared-loras default-mm-loras",
     "--lora", "which parts an adapter changes is read from its file")
SAID("lora* enable-lora max-lora* max-cpu-loras", "",
     "adapters are applied by infer-run and infer-serve: --lora FILE")

/* constraints */
OTHER("schema json-schema-file response-format guided-json j jf", "--json-schema")
OTHER("grammar-file guided-grammar", "--grammar")
OTHER("guided-regex", "--regex")
OTHER("guided-choice", "--choice")
SAID("structured-outputs-config guided-decoding-backend",
     "", "requests are constrained without a setting")

/* output and messages */
SAID("format", "--json-object", "--json-object makes the answer JSON, -o jsonl prints records")
OTHER("format", "--output")
OTHER("output-file", "--out")
OTHER("no-streaming", "--no-stream")
SAID("stream", "--no-stream", "an answer is written as it comes, unless --no-stream is given")
OTHER("log-disable silent disable-log-stats no-progress", "--quiet")
SAID("log-file log-* lf logging-config no-log-* aggregate-engine-logging",
     "", "messages are on standard error: 2>FILE stores them, -v has more")
OTHER("verbosity lv log-verbose", "--verbose")
SAID("progress", "--quiet", "progress is shown on a terminal, unless -q is given")
OTHER("usage", "--help")
OTHER("V", "--version")
SAID("completion-bash", "", "make install installs completions for bash, zsh and fish")

/* servers */
OTHER("server-base", "--server")
SAID("host port", "--listen", "give both as --listen ADDR:PORT")
SAID("uds", "--listen", "a socket is --listen unix:PATH")
SAID("reuse-port", "--listen", "a port has one server: --listen ADDR:PORT")
SAID("api-key",
     "--listen", "keys are in a file, where other users cannot read them: --api-key-file")
OTHER("served-model-name a", "--alias")
SAID("tags", "--alias", "a model has one name: --alias NAME")
OTHER("ssl-key-file ssl-keyfile", "--tls-key")
OTHER("ssl-cert-file ssl-certfile", "--tls-cert")
SAID("ssl-* enable-ssl-refresh",
     "--tls-cert", "TLS is --tls-cert and --tls-key; a proxy can do more")
OTHER("cors-origins allowed-origins", "--cors")
SAID("cors-* no-cors-* allow-credentials allowed-methods allowed-headers",
     "--cors", "--cors ORIGIN allows what the endpoints need")
SAID("path api-prefix root-path middleware disable-fastapi-docs enable-offline-docs",
     "--listen", "the paths are fixed; a proxy can rewrite them")
OTHER("no-ui no-webui", "--no-page")
SAID("ui webui ui-* webui-* no-ui-* no-webui-*",
     "--no-page", "the page is at /, unless --no-page is given")
SAID("tools tools-* mcp-* tool-server ag agent no-ag no-agent",
     "--listen", "a client names its tools; the server runs none")
SAID("tool-call-parser tool-parser-plugin enable-auto-tool-choice tool-strict-level "
     "exclude-tools-when-tool-choice-none",
     "--listen", "calls are found by the model's template, without a setting")
SAID("to timeout", "--header-timeout", "there are --header-timeout and --body-timeout")
SAID("sse-ping-interval sse-keep-alive-interval threads-http h11-* uvicorn-log-level "
     "api-server-count ac grpc grpc-port headless renderer-num-workers stream-interval "
     "enable-scale-out",
     "--listen", "one thread serves all connections; there is no such setting")
SAID("metrics props slots",
     "--no-slots", "/metrics and /props are always served, /slots unless --no-slots is given")
SAID("embedding embeddings", "--no-normalize", "try --embed")
SAID("pooling", "--no-normalize", "try --embed=mean")
SAID("rerank reranking", "--no-normalize", "try --embed=rank")
SAID("embedding embeddings embd", "--depth", "embeddings are not measured")
SAID("embedding embeddings pooling pooler-config",
     "--embed", "embeddings are served without an option; --embed names the pooling")
SAID("rerank reranking task enable-flash-late-interaction",
     "--embed", "the model decides: one that ranks has /v1/rerank")
SAID("embd-normalize",
     "--no-normalize", "an embedding has length 1, unless --no-normalize is given")
SAID("embd-normalize", "--embed", "an embedding has length 1")
SAID("sleep-idle-seconds keepalive keep-alive enable-sleep-mode sleep-*",
     "--idle", "--idle S ends an idle server, and systemd starts it again by its socket")
SAID("keepalive keep-alive", "", "no model stays in memory when the program has ended")
OTHER("shutdown-timeout", "--drain")
SAID("disable-uvicorn-access-log disable-access-log-for-endpoints",
     "--access-log", "there is no such log, unless --access-log FILE is given")
OTHER("enable-log-requests", "--log-requests")
SAID("enable-log-outputs enable-log-deltas max-log-len",
     "--log-requests", "texts are logged by --log-requests=content")
OTHER("otlp-traces-endpoint", "--otlp")
SAID("collect-detailed-traces", "--otlp", "a span has all that is known: --otlp URL")
SAID("scheduling-policy", "--listen", "a request has its \"priority\", without a setting")
SAID("max-logprobs logprobs-mode return-tokens-as-token-ids response-role "
     "trust-request-chat-template enable-request-id-headers enable-per-request-metrics "
     "enable-prompt-tokens-details enable-force-include-usage enable-server-load-tracking "
     "enable-tokenizer-info-endpoint fingerprint-* cohere-* tokens-only "
     "show-hidden-metrics-for-version kv-cache-metrics kv-cache-metrics-sample "
     "cudagraph-metrics enable-mfu-metrics enable-logging-iteration-details "
     "custom-histogram-buckets aux-output-config",
     "--listen", "what an answer and /metrics contain is fixed")
SAID("grammar grammar-file json-schema json-schema-file j jf",
     "--listen", "a request has its constraint: \"json_schema\", \"grammar\" and others")
SAID("ignore-eos reverse-prompt r", "--listen", "a request has its \"stop\" and \"ignore_eos\"")
SAID("perf no-perf", "--listen", "an answer of /completion has its timings")
SAID("prompt p file f binary-file bf escape no-escape e special sp",
     "--listen", "prompts come with requests, as to /v1/chat/completions")

/* devices */
OTHER("n-gpu-layers ngl num-gpu", "--gpu-layers")
OTHER("main-gpu mg dev device-ids", "--device")
SAID("list-devices", "", "the devices are shown by: infer-inspect hw")
OTHER("tensor-split ts", "--split")
SAID("sm split-mode", "--split", "layers are placed whole: --split N,N...")
OTHER("cpu-moe cmoe n-cpu-moe ncmoe", "--cpu-experts")
SAID("ot override-tensor ncffn n-cpu-ffn cpu-offload-gb cpu-offload-params offload-* "
     "kv-offloading-backend",
     "--gpu-layers", "layers are placed whole, by --gpu-layers, --split and --cpu-experts")
SAID("fit fitt fitc fit-target fit-ctx", "--gpu-layers", "--gpu-layers auto places what fits")
SAID("kvo kv-offload nkvo no-kv-offload op-offload no-op-offload nopo repack nr no-repack "
     "no-host",
     "--device", "a layer's cache and work are where its weights are")
SAID("fa flash-attn attention-*", "--threads", "attention is always of that kind")
SAID("mmap no-mmap mlock mmp lm load-mode lzm lazy-mode dio direct-io",
     "--threads", "a model is always mapped")
SAID("no-warmup", "--depth", "the first turn is computed and not counted")
SAID("warmup no-warmup", "--lines", "nothing is computed before the first request")
SAID("warmup no-warmup", "--listen", "nothing is computed before the first request")
SAID("numa numa-* cpu-mask* cpu-range* cpu-strict* C Cr Cb Crb",
     "--threads", "threads use the cores and memory that taskset or numactl leave them")
SAID("prio prio-batch poll poll-batch", "--threads", "priorities are set by nice")
SAID("rpc", "", "one machine computes a model")
SAID("tensor-parallel-size tp pipeline-parallel-size pp data-parallel-* dp dpn dpr dpl dpa "
     "dpp dpb dph dpe dpm dc ep enable-expert-parallel pcp dcp "
     "prefill-context-parallel-size decode-context-parallel-size dcp-* cp-* dp-* nnodes "
     "node-rank r master-addr master-port distributed-* ray-* all2all-backend enable-eplb "
     "eplb-config enable-elastic-ep elastic-ep-* enable-ep-* expert-placement-strategy "
     "disable-custom-all-reduce disable-nccl-* enable-nccl-* worker-* enable-dbo dbo-* "
     "ubatch-size cpu-distributed-* fault-tolerance-config enable-fault-tolerance "
     "kv-transfer-config kv-events-config ec-* weight-transfer-config moe-backend "
     "linear-backend kernel-config engram-config",
     "--listen",
     "one process serves a model; several GPUs take whole layers of it: --split N,N...")
SAID("enforce-eager compilation-config cc optimization-level O cudagraph-* max-cudagraph-* "
     "enable-flashinfer-autotune performance-mode monokernel jit-* ir-op-priority "
     "enable-layerwise-* profiler-config async-scheduling no-async-scheduling "
     "disable-cascade-attn scheduler-* prefill-schedule-interval kv-sharing-* mamba-* "
     "enable-mamba-* gdn-* kda-* sparse-* enable-cumem-allocator enable-shm-tensor-arena "
     "enable-hc-sp replayssm-* use-replayssm specialize-* enable-trace-replay "
     "enable-return-* diffusion-config watchdog-config watermark-config additional-config "
     "logits-processors per-request-* disable-hybrid-* fail-on-environ-validation "
     "kv-cache-dtype-skip-layers video-pruning-*",
     "--listen", "that is a setting of vLLM's engine, which has no counterpart here")

/* what is not supported */
SAID("control-vector*", "", "control vectors are not supported")
SAID("spec-* draft* md hfd hfrd td tbd Cd Crd Cbd ctkd ctvd otd cmoed ncmoed devd ngld lcs "
     "lcd lookup-cache-* model-draft hf-repo-draft threads-draft threads-batch-draft "
     "prio-draft poll-draft prio-batch-draft poll-batch-draft cache-type-k-draft "
     "cache-type-v-draft override-tensor-draft n-cpu-moe-draft device-draft "
     "gpu-layers-draft n-gpu-layers-draft no-spec-* speculative-* num-speculative-tokens "
     "sc cpu-moe-draft lookahead num-lookahead-slots",
     "", "speculative decoding is not supported")

/* quantising */
SAID("o output", "--into", "a result has a name: OUT, or --out F")
SAID("output-tensor-type", "--keep", "try --keep ^output=TYPE")
SAID("leave-output-tensor", "--keep", "try --keep ^output=F16")
SAID("token-embedding-type", "--keep", "try --keep token_embd=TYPE")
SAID("tensor-type", "--keep", "try --keep PATTERN=TYPE")
SAID("tensor-type-file", "--recipe", "types of tensors are in a recipe: --recipe FILE")
SAID("pure", "--keep", "the name of a type, not of a mix, is pure: --type Q4_K")
SAID("allow-requantize", "--keep", "quantised weights are quantised again without an option")
SAID("prune-layers", "--keep", "layers are never left out")
SAID("include-weights exclude-weights",
     "--imatrix", "an importance matrix is used whole: --imatrix FILE")
SAID("keep-split", "--split-max-size", "parts are made by --split-max-size SIZE")
SAID("max-buffer-size", "--keep", "there is no such setting")
SAID("check-tensors", "", "every weight is checked by: infer-inspect verify")

/* measuring */
OTHER("n-prompt", "--prompt")
OTHER("n-depth d", "--depth")
OTHER("repetitions r", "--repeat")
SAID("pg", "--depth", "a prompt and an answer are measured apart: -p and -n, with --depth")
SAID("delay", "--depth", "rounds follow each other at once")
SAID("oe output-err o",
     "--first-token", "the table is on standard output, --json and --record FILE are for programs")

/* other settings of Ollama */
SAID("truncate dimensions", "", "an embedding is given whole, a text that is too long is refused")
SAID("modelfile parameters license", "", "what a model contains is shown by: infer-inspect show")
