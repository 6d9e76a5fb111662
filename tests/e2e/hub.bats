# models by name: the cache, the choice of a file, all programs, pull, list and rm
load lib
load serve

A=$(printf 'a%.0s' {1..40}) # commits
C=$(printf 'b%.0s' {1..40})

# the hub of the file's cases: org/tiny has two quantisations and two revisions, org/dir is a directory of safetensors
setup_more()
{
	export ROOT=$BATS_FILE_TMPDIR/root
	mkdir -p "$ROOT/org/tiny/$A/sub" "$ROOT/org/tiny/$C" "$ROOT/org/dir"
	mkmodel "$ROOT/org/tiny/$A/t-Q4_K_M.gguf"
	mkmodel --tok spm "$ROOT/org/tiny/$A/sub/t-Q8_0.gguf"
	echo '{}' >"$ROOT/org/tiny/$A/config.json"
	echo projector >"$ROOT/org/tiny/$A/mmproj-F16.gguf"
	cp -r "$ROOT/org/tiny/$A/." "$ROOT/org/tiny/$C"
	mkmodel --layers 1 "$ROOT/org/tiny/$C/t-Q4_K_M.gguf"
	printf %s "$A" >"$ROOT/org/tiny/main"
	printf %s "$C" >"$ROOT/org/tiny/v2"
	mkmodel --type f16 m.gguf
	mkhf --shards 2 m.gguf "$ROOT/org/dir/$A"
	echo unread >"$ROOT/org/dir/$A/pytorch_model.bin"
	mkdir -p "$ROOT/org/big/$A"
	head -c 12000000 /dev/zero >"$ROOT/org/big/$A/b-Q8_0.gguf"
	printf %s "$A" >"$ROOT/org/big/main"
	printf %s "$A" >"$ROOT/org/dir/main"
	unset "${!HF_@}" SSL_CERT_FILE CURL_CA_BUNDLE HUGGING_FACE_HUB_TOKEN HUGGINGFACE_HUB_CACHE TRANSFORMERS_OFFLINE
	LACKS=$(HF_HUB_CACHE=$PWD/none HF_ENDPOINT=http://127.0.0.1:1 infer-inspect pull hf:org/tiny 2>&1 | grep -o 'no libcurl' || :)
	export LACKS
}

# each case has a server, a home and a cache
setup()
{
	cd "$BATS_TEST_TMPDIR" || return
	[ -z "$LACKS" ] || skip "needs libcurl (package libcurl4)"
	unset INFER_MODEL XDG_CACHE_HOME http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY
	export HOME=$PWD/home HF_HUB_CACHE=$PWD/cache
	mkdir home
	cp -rl "$ROOT" hub
	rm -f hub/.log hub/.modes
	mockhub hub >address 3>&- &
	HUB=$!
	up address
	HF_ENDPOINT=$(cat address)
	export HF_ENDPOINT
	REPO=$HF_HUB_CACHE/models--org--tiny
}
teardown()
{
	[ -z "${PID:-}" ] || end_server
	kill "$HUB" 2>/dev/null || :
}
pull() { infer-inspect pull "$@" 2>said; }
# requests for contents since the last call
contents()
{
	grep -c '^2.. GET cdn\|^2.. GET hub /api/resolve-cache\|^2.. GET hub /[^/]*/[^/]*/resolve' hub/.log || :
	: >hub/.log
}
# the paths below a folder, without types
tree() { (cd "$1" && find . ! -type d | sort | paste -sd' '); }

@test "a file by its quantisation, its path, or chosen; downloaded once; offline; links, refs and what is missing" {
	same "$REPO/snapshots/$A/t-Q4_K_M.gguf" "$(pull hf:org/tiny)"
	grep -q 'hf:org/tiny: Q4_K_M of 2 GGUF models, .*; mmproj-F16.gguf is not used' said
	cmp "$REPO/snapshots/$A/t-Q4_K_M.gguf" "$ROOT/org/tiny/$A/t-Q4_K_M.gguf"
	same 1 "$(contents)"
	same "$REPO/snapshots/$A/sub/t-Q8_0.gguf" "$(pull hf:org/tiny:q8_0)"
	same "$REPO/snapshots/$C/t-Q4_K_M.gguf" "$(pull hf:org/tiny@v2:t-Q4_K_M.gguf)"
	same "$REPO/snapshots/$C/sub/t-Q8_0.gguf" "$(pull "hf:org/tiny@$C:Q8_0")" # the same content as in the other commit
	same 2 "$(contents)"
	# blobs are named by their hash, links are relative, one more step up for a folder
	sum=$(sha256sum <"$ROOT/org/tiny/$A/sub/t-Q8_0.gguf" | cut -d' ' -f1)
	same "../../../blobs/$sum" "$(readlink "$REPO/snapshots/$A/sub/t-Q8_0.gguf")"
	same "../../blobs" "$(dirname "$(readlink "$REPO/snapshots/$A/t-Q4_K_M.gguf")")"
	pull hf:org/tiny:config.json >out
	same "../../blobs/$(printf 'blob 3\0{}\n' | sha1sum | cut -d' ' -f1)" "$(readlink "$REPO/snapshots/$A/config.json")"
	same "$A $C" "$(cat "$REPO/refs/main") $(cat "$REPO/refs/v2")"
	grep -q 8a477f597d28d172789f06886806bc55 cache/CACHEDIR.TAG
	# again, without a request for content
	contents >out
	pull hf:org/tiny hf:org/tiny:Q8_0 "hf:org/tiny@$C:Q8_0" hf:org/tiny:config.json >out
	same 4 "$(wc -l <out)"
	same 0 "$(contents)"
	: >hub/.log
	pull "hf:org/tiny@$C:sub/t-Q8_0.gguf" >out # a file of a commit does not change: no request at all
	[ ! -s hub/.log ]
	fails 2 "hf:org/tiny has neither a file nor a quantisation 'none.gguf'; it has Q8_0, Q4_K_M" infer-inspect pull hf:org/tiny:none.gguf
	[ -f "$REPO/.no_exist/$A/none.gguf" ]
	fails 2 'neither a file nor a quantisation' infer-inspect pull hf:org/tiny:Q5_K_M
	fails 1 'there is no repository org/tini, .*; did you mean hf:org/tiny' infer-inspect pull hf:org/tini
	# without a connection
	contents >out
	export HF_HUB_OFFLINE=1
	same "$REPO/snapshots/$A/t-Q4_K_M.gguf" "$(pull hf:org/tiny)"
	fails 1 'hf:org/tiny:F16 is not in the cache, and HF_HUB_OFFLINE is set; the cache has Q8_0, Q4_K_M' infer-inspect pull hf:org/tiny:F16
	fails 1 'hf:org/none is not in the cache' infer-inspect pull hf:org/none
	[ ! -s hub/.log ]
	unset HF_HUB_OFFLINE
	export HF_ENDPOINT=http://127.0.0.1:1
	same "$REPO/snapshots/$A/t-Q4_K_M.gguf" "$(pull hf:org/tiny:Q4_K_M)"
	grep -q "Couldn't connect.*; the cache has the model" said
	same 1 "$(grep -vc 'GGUF models' said)"
	[ ! -e cache/models--org--none ]
}

@test "every program takes a name: infer-run, -serve, -bench, -quant, -inspect, INFER_MODEL, --sandbox, a configuration" {
	m=$ROOT/org/tiny/$A/t-Q4_K_M.gguf
	local box=(--sandbox)
	[ -z "${SAN:-}" ] || box=() # a build with sanitizers has no sandbox
	alone=$(infer-run -m "$m" --raw --no-stdin -n 3 --temp 0 'the of')
	same "$alone" "$(infer-run -q -m hf:org/tiny "${box[@]}" --raw --no-stdin -n 3 --temp 0 'the of' 2>said)"
	[ ! -s said ]
	same "$alone" "$(INFER_MODEL=hf:org/tiny infer-run --raw --no-stdin -n 3 --temp 0 'the of' 2>said)"
	same "$(infer-run --tokenize -m "$m" 'the of')" "$(infer-run --tokenize "${box[@]}" -m hf:org/tiny 'the of' 2>said)"
	same "$(infer-inspect verify "$m")" "$(infer-inspect verify hf:org/tiny 2>said)"
	same "$(infer-inspect tokens -m "$m" the)" "$(infer-inspect tokens -m hf:org/tiny the 2>said)"
	infer-quant --type Q8_0 hf:org/tiny q.gguf 2>said
	infer-quant --type Q8_0 "$m" p.gguf 2>said
	cmp p.gguf q.gguf
	same "$REPO/snapshots/$A/t-Q4_K_M.gguf" "$(infer-bench run -m hf:org/tiny -p 0 -n 1 --repeat 1 --json 2>said | grep -o "${HF_HUB_CACHE}[^\"]*" | head -n 1)"
	# several files, although the first is opened in a sandbox
	same "$(infer-inspect diff "$m" "$ROOT/org/tiny/$A/sub/t-Q8_0.gguf" | tail -n 1)" "$(infer-inspect diff hf:org/tiny hf:org/tiny:Q8_0 2>said | tail -n 1)"
	same 2 "$(contents)"
	# a directory of safetensors, through its links
	same "$(infer-run -m "$ROOT/org/dir/$A" --raw --no-stdin -n 3 --temp 0 'the of')" "$(infer-run -m hf:org/dir --raw --no-stdin -n 3 --temp 0 'the of' 2>said)"
	grep -q 'hf:org/dir: the directory, [0-9]* files, ' said
	[ ! -e "$HF_HUB_CACHE/models--org--dir/snapshots/$A/pytorch_model.bin" ]
	# a server: the model is there before it listens
	serve -m hf:org/tiny:Q8_0
	same 200 "$(own ask POST /v1/completions '{"prompt":"the of","max_tokens":1}' >out; status)"
	end_server
	printf 'infer-serve: 1\nmodels:\n  one: {model: "hf:org/tiny@v2", temp: 0}\n' >serve.yaml
	serve --config serve.yaml
	one=$(infer-run -m "$ROOT/org/tiny/$C/t-Q4_K_M.gguf" --raw --no-stdin -n 3 --temp 0 'the of')
	same "$one" "$(own ask POST /v1/completions '{"model":"one","prompt":"the of","max_tokens":3}' | json choices.0.text)"
	same "$one" "$(infer-run --server unix:own -m hf:org/tiny@v2 --raw --no-stdin -n 3 --temp 0 'the of')"
	# a configuration that is read again finds what the cache has, and nothing else
	printf '  two: {model: "hf:org/tiny:Q8_0", temp: 0}\n' >>serve.yaml
	kill -HUP "$PID"
	until_same 'one two' ids
	same "$(infer-run -m "$ROOT/org/tiny/$A/sub/t-Q8_0.gguf" --raw --no-stdin -n 3 --temp 0 'the of')" \
		"$(own ask POST /v1/completions '{"model":"two","prompt":"the of","max_tokens":3}' | json choices.0.text)"
	printf '  three: {model: "hf:org/tiny@v2:Q8_0"}\n' >>serve.yaml
	kill -HUP "$PID"
	until_same 1 complaints
	same 'one two' "$(ids)"
}
ids() { own ask GET /v1/models | grep -o '"id":"[a-z]*"' | cut -d'"' -f4 | paste -sd' '; }
complaints() { grep -c 'hf:org/tiny@v2:Q8_0 is not in the cache' said || :; }

@test "list and rm: sizes, last use, shared contents, locks; nothing else is touched" {
	pull hf:org/tiny hf:org/tiny:Q8_0 hf:org/tiny@v2 hf:org/tiny@v2:Q8_0 hf:org/dir >out
	infer-inspect list >out
	same '3 directory;Q8_0, Q4_K_M;Q8_0, Q4_K_M' "$(wc -l <out) $(grep -o 'Q8_0, Q4_K_M$\|directory$' out | sort -s -k 2 | paste -sd';')"
	grep -qE "^ +[0-9.]+ (MiB|KiB|B) +$(date +%Y)-[0-9-]+  hf:org/tiny@v2  Q8_0, Q4_K_M" out
	grep -q ' hf:org/tiny  Q8' out
	infer-inspect list --json >out
	same "org/tiny $A main" "$(sed -n 2p out | json repo) $(sed -n 2p out | json commit) $(sed -n 2p out | json refs.0)"
	same "$(($(stat -c %s "$ROOT/org/tiny/$A/t-Q4_K_M.gguf") + $(stat -c %s "$ROOT/org/tiny/$A/sub/t-Q8_0.gguf")))" "$(sed -n 2p out | json bytes)"
	# what the other commit has too stays
	echo mine >"$HF_HUB_CACHE/other"
	infer-inspect rm org/tiny@v2 >out
	same "$A $A" "$(infer-inspect list --json | json commit | paste -sd' ')"
	same 2 "$(find "$REPO/blobs" -type f | wc -l)"
	cmp "$REPO/snapshots/$A/sub/t-Q8_0.gguf" "$ROOT/org/tiny/$A/sub/t-Q8_0.gguf"
	[ ! -e "$REPO/refs/v2" ]
	blocks=$(stat -Lc %b "$REPO/snapshots/$A/sub/t-Q8_0.gguf")
	same "$((blocks * 512))" "$(infer-inspect rm hf:org/tiny:q8_0 | cut -d' ' -f1)"
	same './t-Q4_K_M.gguf' "$(tree "$REPO/snapshots/$A")"
	fails 1 'hf:org/tiny:Q8_0 is not in the cache' infer-inspect rm hf:org/tiny:Q8_0
	fails 1 'hf:org/tinny is not in the cache; did you mean hf:org/tiny' infer-inspect rm org/tinny
	fails 2 'must be ORG/REPO' infer-inspect rm ../x
	fails 2 'rm needs a model' infer-inspect rm
	fails 2 'pull needs a model' infer-inspect pull
	fails 1 'no such file; for the hub: infer-inspect pull hf:org/none$' infer-inspect pull org/none
	fails 1 'for the hub: infer-inspect pull hf:org/none:Q4_K_M$' infer-inspect pull https://huggingface.co/org/none:Q4_K_M
	fails 1 'for a model of Ollama: infer-inspect pull ollama:llama3:8b$' infer-inspect pull llama3:8b
	fails 2 'list takes no argument' infer-inspect list x
	fails 2 'json does not go with pull' infer-inspect pull --json hf:org/tiny
	# a lock that another process holds
	lock=$HF_HUB_CACHE/.locks/models--org--tiny/$(basename "$(readlink "$REPO/snapshots/$A/t-Q4_K_M.gguf")").lock
	(
		exec 9>"$lock"
		flock 9
		fails 1 'org/tiny: another process downloads it: nothing was removed' infer-inspect rm org/tiny
	)
	infer-inspect rm org/tiny org/dir >out
	same 2 "$(grep -c ' freed$' out)"
	same './CACHEDIR.TAG ./other' "$(cd cache && find . -path ./.locks -prune -o ! -type d -print | sort | paste -sd' ')"
	[ -d cache ]
	infer-inspect list 2>said >out
	grep -q "no model in $HF_HUB_CACHE" said
}

@test "two processes at once download once; SIGINT keeps what came, and the same command continues" {
	doubled 1 256 both
	same "$(cat one)" "$(cat two)"
	same 1 "$(contents)"
	cmp "$(cat one)" "$ROOT/org/tiny/$A/t-Q4_K_M.gguf"
	same 0 "$(partials)"
	# interrupted
	echo 'GET cdn *Q8_0* : stall=9000000 times=1' >hub/.modes
	env --default-signal=INT infer-inspect pull hf:org/big >three 2>err3 &
	first=$!
	until_same 1 partials
	until_same 1 has_bytes
	kill -INT "$first"
	rc=0
	wait "$first" || rc=$?
	same 130 "$rc"
	grep -q 'what was downloaded is kept; the same command continues' err3
	[ ! -s three ]
	same 1 "$(partials)"
	[ ! -e "cache/models--org--big/snapshots/$A/b-Q8_0.gguf" ]
	: >hub/.log
	cmp "$(pull hf:org/big)" "$ROOT/org/big/$A/b-Q8_0.gguf"
	grep -qi 'GET cdn .*Range: bytes=[1-9]' hub/.log
	same 0 "$(partials)"
}
partials() { find cache -name '*.inferutils' 2>/dev/null | wc -l; }
# two processes that take about twice N seconds; fails if one ended before the other began
both()
{
	rm -rf cache
	: >hub/.log
	echo "GET cdn *Q4_K_M* : slow=$((400000 / $1))" >hub/.modes
	infer-inspect pull hf:org/tiny >one 2>err1 &
	local first=$!
	infer-inspect pull hf:org/tiny >two 2>err2
	wait "$first"
	same 1 "$(cat err1 err2 | grep -c 'another process is downloading t-Q4_K_M.gguf: waiting for it')"
}
has_bytes() { find cache -name '*.inferutils' -exec du -k {} + | awk '$1 > 8000' | wc -l; }

@test "a revision that changes during the download; a disk that is too small; sizes and hashes that disagree" {
	# the commit is looked up once: all files are of it
	echo 'GET cdn *00001* : slow=60000' >hub/.modes
	infer-inspect pull hf:org/dir >one 2>said &
	first=$!
	until_same 1 partials
	mkdir -p "hub/org/dir/$C"
	echo '{}' >"hub/org/dir/$C/config.json"
	rm hub/org/dir/main
	printf %s "$C" >hub/org/dir/main
	wait "$first"
	same "$HF_HUB_CACHE/models--org--dir/snapshots/$A" "$(cat one)"
	for f in config.json tokenizer.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors; do
		cmp "$(cat one)/$f" "$ROOT/org/dir/$A/$f"
	done
	same "$A" "$(cat "$HF_HUB_CACHE/models--org--dir/refs/main")"
	# 3 EB
	echo '[{"type":"file","path":"t-Q8_0.gguf","size":3000000000000000000,"oid":"0"}]' >hub/big.json
	echo 'GET hub /api/models/org/tiny/tree/* : json=big.json' >hub/.modes
	: >hub/.log
	fails 1 "$HF_HUB_CACHE: 3000000000.0 GB are needed for hf:org/tiny, and [0-9.]+ .B are free .infer-inspect list shows models" infer-inspect -q pull hf:org/tiny:Q8_0
	run ! grep -q ' HEAD ' hub/.log
	for fault in size=77 commit=$C etag=../../../../x etag=0; do
		echo "HEAD hub *resolve*Q8_0* : $fault" >hub/.modes
		rc=0
		infer-inspect -q pull hf:org/tiny:Q8_0 >out 2>err || rc=$?
		same '3 1' "$rc $(wc -l <err)"
		[ -z "$(find cache -name '*Q8_0*')" ]
	done
	[ ! -e x ] && [ ! -e ../x ] && [ ! -e "$HOME/x" ]
	# in the cache, but cut
	pull hf:org/tiny >out
	rm -f hub/.modes
	blob=$(readlink -f "$REPO/snapshots/$A/t-Q4_K_M.gguf")
	truncate -s 100 "$blob"
	fails 3 't-Q4_K_M.gguf has 100 bytes in the cache, and [0-9]+ on the hub: infer-inspect rm org/tiny removes it' infer-inspect -q pull hf:org/tiny
}

@test "hostile lists, and links in the cache that lead out of it: one line, and nothing outside" {
	mkdir outside
	for path in ../x /etc/x a/../../x 'a\\u0000b' a//b 'a\\\\b'; do
		printf '[{"type":"file","path":"%b","size":1,"oid":"0"}]' "$path" >hub/bad.json
		echo 'GET hub /api/models/org/tiny/tree/* : json=bad.json' >hub/.modes
		fails 3 '"path" must be a path of the repository' infer-inspect pull hf:org/tiny
	done
	for text in '' '[' '{"sha":1}' '{"sha":"../../../../x"}' "$(printf '[%.0s' {1..2000})"; do
		printf %s "$text" >hub/bad.json
		echo 'GET hub /api/models/org/tiny/revision/* : json=bad.json' >hub/.modes
		fails 3 "hf:org/tiny: the hub's answer" infer-inspect pull hf:org/tiny
	done
	[ ! -e cache ]
	rm -f hub/.modes
	# a folder of the cache is a link
	mkdir cache
	for link in models--org--tiny models--org--tiny/blobs models--org--tiny/snapshots "models--org--tiny/snapshots/$A" \
		"models--org--tiny/snapshots/$A/sub" .locks .locks/models--org--tiny; do
		rm -rf cache/* cache/.locks
		mkdir -p "cache/$(dirname "$link")"
		ln -s "$PWD/outside" "cache/$link"
		fails 1 "/cache/${link#cache/}[^:]*: a part of it is a link or no directory" infer-inspect -q pull hf:org/tiny:Q8_0
		[ -z "$(ls -A outside)" ]
	done
	rm -rf cache
	pull hf:org/tiny >out
	# the temporary name, or the link of a file, leads elsewhere
	sum=$(sha256sum <"$ROOT/org/tiny/$A/sub/t-Q8_0.gguf" | cut -d' ' -f1)
	echo precious >outside/file
	ln -s "$PWD/outside/file" "$REPO/blobs/$sum.inferutils"
	fails 1 "$sum.inferutils" infer-inspect -q pull hf:org/tiny:Q8_0
	rm "$REPO/blobs/$sum.inferutils"
	mkdir -p "$REPO/snapshots/$A/sub"
	ln -s "$PWD/outside/file" "$REPO/snapshots/$A/sub/t-Q8_0.gguf"
	fails 3 'is a link out of the cache' infer-inspect -q pull hf:org/tiny:Q8_0
	infer-inspect rm org/tiny >out
	same precious "$(cat outside/file)"
	# so does the content's own name, to a file of the right size: it is replaced
	head -c "$(stat -c %s "$ROOT/org/tiny/$A/sub/t-Q8_0.gguf")" /dev/zero >outside/zero
	mkdir -p "$REPO/blobs"
	ln -s "$PWD/outside/zero" "$REPO/blobs/$sum"
	pull hf:org/tiny:Q8_0 >out
	same "$sum" "$(sha256sum <"$(cat out)" | cut -d' ' -f1)"
	[ ! -L "$REPO/blobs/$sum" ] && [ ! -s <(tr -d '\0' <outside/zero) ]
	# a list that goes on at another address than the hub's is not taken for a whole one
	echo 'GET hub * : page=1' >hub/.modes
	HF_ENDPOINT=${HF_ENDPOINT/127.0.0.1/localhost} fails 1 "the next page of the list must be at http://localhost:[0-9]*, and is at $HF_ENDPOINT/" \
		infer-inspect -q pull hf:org/tiny
	rm hub/.modes
	# what rm leaves of a snapshot is no model
	pull hf:org/tiny:mmproj-F16.gguf >out
	infer-inspect rm org/tiny:Q8_0 >out
	infer-inspect list >out
	grep -q ' hf:org/tiny  other files$' out
	# a name is not answered with itself
	HF_HUB_OFFLINE=1 fails 1 'and HF_HUB_OFFLINE is set; the cache has some of it: infer-inspect list$' infer-inspect pull hf:org/tiny@v2
	# names that no repository has are not printed
	mkdir -p "$HF_HUB_CACHE/models--a"$'\e'"[31m--b/snapshots/$A"
	echo x >"$HF_HUB_CACHE/models--a"$'\e'"[31m--b/snapshots/$A/m-Q4_K_M.gguf"
	infer-inspect list >out
	same 0 "$(grep -c 31m out || :)"
	# refs that are no commits
	pull hf:org/tiny >out
	echo '../../../outside' >"$REPO/refs/main"
	HF_HUB_OFFLINE=1 fails 3 'refs/main: must be a commit' infer-inspect pull hf:org/tiny
	infer-inspect list >out
	grep -q "hf:org/tiny@$A" out
}

@test "on a terminal: bytes, rate and time left, and nothing with -q or in a file" {
	command -v script >/dev/null || skip 'no script(1) here'
	echo 'GET cdn *Q8_0* : slow=4000000' >hub/.modes
	printf '#!/bin/sh\nexec infer-inspect pull hf:org/big\n' >it.sh
	TERM=xterm script -qfec "sh $PWD/it.sh" shown </dev/null >shown.2
	tr '\r' '\n' <shown | grep -E 'downloading [0-9.]+/11 MiB \([0-9]+ %\) [0-9.]+ [KM]iB/s, [0-9:]+ left'
	infer-inspect rm org/big >out
	rm hub/.modes
	infer-inspect -q pull hf:org/big >out 2>said
	[ ! -s said ]
}

@test "where the cache and the token are, by the rules of huggingface_hub; a token is never shown" {
	HF_ENDPOINT=http://me:my-secret@127.0.0.1:1 fails 2 'not USER@127.0.0.1:1$' infer-inspect pull hf:org/tiny
	unset HF_HUB_CACHE
	pull hf:org/tiny:config.json >out
	same "$HOME/.cache/huggingface/hub/models--org--tiny/snapshots/$A/config.json" "$(cat out)"
	same "$PWD/xdg/huggingface/hub" "$(XDG_CACHE_HOME=$PWD/xdg pull hf:org/tiny:config.json | sed 's|/models--.*||')"
	same "$PWD/hf/hub" "$(HF_HOME=$PWD/hf pull hf:org/tiny:config.json | sed 's|/models--.*||')"
	same "$HOME/c" "$(HF_HOME=$PWD/hf HF_HUB_CACHE=\~/c pull hf:org/tiny:config.json | sed 's|/models--.*||')"
	same "$PWD/v/\$NONE" "$(V=$PWD/v HF_HUB_CACHE='${V}/$NONE' pull hf:org/tiny:config.json | sed 's|/models--.*||')"
	# the token
	export HF_HUB_CACHE=$PWD/cache
	: >hub/.log
	mkdir -p "$HOME/.cache/huggingface" hf
	echo ' hf_home ' >"$HOME/.cache/huggingface/token"
	echo hf_file >hf/token
	pull hf:org/tiny:config.json >out
	HF_HOME=$PWD/hf pull hf:org/tiny:config.json >out
	HF_TOKEN_PATH=$PWD/hf/token pull hf:org/tiny:config.json >out
	HF_TOKEN=hf_env pull hf:org/tiny:config.json >out
	HF_HUB_DISABLE_IMPLICIT_TOKEN=1 pull hf:org/tiny:config.json >out
	same 'hf_home hf_file hf_file hf_env -' "$(grep ' /api/models/org/tiny/revision' hub/.log | sed 's/.*Authorization: Bearer \([^ ]*\).*/\1/; / /s/.*/-/' | paste -sd' ')"
	printf 'two words' >hf/token
	HF_TOKEN_PATH=$PWD/hf/token fails 2 'hf/token: must be one word, a token of the hub' infer-inspect pull hf:org/tiny
	HF_TOKEN=$'hf_secret\nX-Evil: 1' fails 2 'HF_TOKEN: must be one word' infer-inspect pull hf:org/tiny
	run ! grep -rq 'hf_secret\|two words' err
	HF_TOKEN=hf_secret infer-inspect -vv pull hf:org/tiny >out 2>&1
	run ! grep -q hf_secret out
}

@test "plan of a model that is not in the cache downloads its config.json alone" {
	mkdir -p hub/org/plain/$A
	echo '{"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,
		"intermediate_size":14336,"vocab_size":128256,"max_position_embeddings":131072}' >hub/org/plain/$A/config.json
	head -c 12000000 /dev/zero >hub/org/plain/$A/model.safetensors
	printf %s "$A" >hub/org/plain/main
	for word in hf:org/plain org/plain; do
		infer-inspect plan -m $word --hw h100 >a
		sed -n 1p a | grep -q '^verdict  *runs well'
		grep -q '^assumed  *llama: 32 layers of 4096' a
		grep -q 'infer-run -m hf:org/plain ' a
	done
	same config.json "$(ls "$HF_HUB_CACHE/models--org--plain/snapshots/$A")"
	same 1 "$(contents)"
	infer-inspect plan -m hf:org/big --hw h100 >a 2>b && false # it has none: the model itself is downloaded
	grep -q 'b-Q8_0.gguf' b
	fails 1 'no such file; for the hub: -m hf:org/none' infer-inspect plan -m org/none --hw h100
}
