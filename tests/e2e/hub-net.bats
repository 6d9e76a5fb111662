# models by name, over a network with every fault: refusals, the token, certificates, kill -9
load lib
load serve

A=$(printf 'a%.0s' {1..40})

setup_more()
{
	export ROOT=$BATS_FILE_TMPDIR/root
	for r in tiny gated private; do
		mkdir -p "$ROOT/org/$r/$A"
		cp "$M" "$ROOT/org/$r/$A/t-Q4_K_M.gguf"
		printf %s "$A" >"$ROOT/org/$r/main"
	done
	printf right-token >"$ROOT/org/gated/.gated"
	printf right-token >"$ROOT/org/private/.private"
	# of three ranges
	mkdir -p "$ROOT/org/big/$A"
	head -c 40000000 /dev/urandom >"$ROOT/org/big/$A/b-Q8_0.gguf"
	printf %s "$A" >"$ROOT/org/big/main"
	unset "${!HF_@}" SSL_CERT_FILE CURL_CA_BUNDLE HUGGING_FACE_HUB_TOKEN HUGGINGFACE_HUB_CACHE TRANSFORMERS_OFFLINE
}

# each case has a server, a home and a cache
setup()
{
	cd "$BATS_TEST_TMPDIR" || return
	unset INFER_MODEL XDG_CACHE_HOME http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY
	export HOME=$PWD/home HF_HUB_CACHE=$PWD/cache
	mkdir home
	cp -rl "$ROOT" hub
	rm -f hub/.log hub/.modes
	hub
}
# hub [CERT KEY]: the server
hub()
{
	rm -f address
	mockhub hub "$@" >address 3>&- &
	HUB=$!
	up address
	HF_ENDPOINT=$(cat address)
	export HF_ENDPOINT
}
teardown() { kill "$HUB" 2>/dev/null || :; }
modes() { printf '%s\n' "$@" >hub/.modes; }
pull() { infer-inspect pull "$@" 2>said; }
# nothing of a model has a name in the cache
is_empty() { same 0 "$(find cache \( -path '*/blobs/*' -o -path '*/snapshots/*' \) ! -type d ! -name '*.inferutils' | wc -l)"; }

@test "gated, private, refused: what to do is said, and where the licence is accepted" {
	fails 1 "hf:org/gated: it is gated: accept its licence at $HF_ENDPOINT/org/gated and set HF_TOKEN\$" infer-inspect -q pull hf:org/gated
	# the page of a long name is named whole
	long=$(printf 'o%.0s' {1..35})/$(printf 'n%.0s' {1..60})
	mkdir -p "hub/${long%/*}"
	cp -r hub/org/gated "hub/$long"
	fails 1 "hf:$(printf %s "$long" | cut -c 1-57): it is gated: accept its licence at $HF_ENDPOINT/$long and set HF_TOKEN\$" infer-inspect -q pull "hf:$long"
	fails 1 'there is no repository org/private, or it is private and needs HF_TOKEN' infer-inspect -q pull hf:org/private
	export HF_TOKEN=wrong-token
	fails 1 'hf:org/gated: it is gated, and this token has no access: accept its licence at' infer-inspect -q pull hf:org/gated
	fails 1 'there is no repository org/private, or it is private and this token has no access' infer-inspect -q pull hf:org/private
	same 0 "$(grep -c wrong-token err || :)"
	is_empty
	HF_TOKEN=right-token
	pull hf:org/gated hf:org/private >out
	same 2 "$(wc -l <out)"
	unset HF_TOKEN
	modes '* : status=401'
	fails 1 'org/tiny: the hub refuses \(status 401\): set HF_TOKEN' infer-inspect -q pull hf:org/tiny
	modes '* : status=429 retry=400'
	fails 1 'the hub asks to wait 400 s' infer-inspect -q pull hf:org/tiny
	# waiting is said once, failures that pass are not
	modes '* : status=429 retry=1 times=2' '* : status=503 times=3'
	pull hf:org/tiny >out
	same 1 "$(grep -c 'the hub asks to wait 1 s' said)"
	same 2 "$(grep -c . said)" # and the name of the file
	cmp "$(cat out)" "$M"
}

@test "the token is sent to the hub, and to no host of a redirect; it is in no message, no file" {
	export HF_TOKEN=secret-of-mine
	infer-inspect -v pull hf:org/tiny >out 2>said
	unset HF_TOKEN
	mkdir -p home/.cache/huggingface
	echo secret-of-file >home/.cache/huggingface/token
	infer-run -v -m hf:org/big@main:Q8_0 --no-stdin hello >out2 2>said2 || :
	[ "$(grep -c 'GET cdn' hub/.log)" -ge 4 ]
	same 0 "$(grep ' cdn ' hub/.log | grep -ci 'authorization\|secret' || :)"
	grep -q 'GET hub.*Authorization: Bearer secret-of-mine' hub/.log
	grep -q 'GET hub.*Authorization: Bearer secret-of-file' hub/.log
	same none "none$(grep -rl secret-of cache out said out2 said2 || :)"
	# the same host with another port is another host
	port=$(sed -n 's/.*cdn.*Host: localhost:\([0-9]*\).*/\1/p' hub/.log | head -n 1)
	: >hub/.log
	modes "GET hub /api/* : loop location=http://127.0.0.1:$port/x"
	HF_TOKEN=secret-of-mine fails 1 'status 404' infer-inspect -q pull hf:org/gated
	same "1 1" "$(grep -c 'hub.*secret-of-mine' hub/.log) $(grep -c ' cdn /x' hub/.log)"
	same 0 "$(grep ' cdn ' hub/.log | grep -ci 'authorization\|secret' || :)"
}

@test "wrong contents, endless redirects, heaps of headers: one line, the right code, nothing in the cache" {
	modes 'GET cdn * : wrong=100'
	fails 3 'hf:org/tiny.*t-Q4_K_M.gguf: the sha256 of the content differs from the hub' infer-inspect -q pull hf:org/tiny
	is_empty
	modes 'GET cdn * : loop'
	fails 1 'more than 10 redirects' infer-inspect -q pull hf:org/tiny
	modes 'GET hub /api/* : loop'
	fails 1 'more than 10 redirects' infer-inspect -q pull hf:org/tiny
	modes '* : loop location=file:///etc/passwd'
	fails 1 'file:///etc/passwd is not http' infer-inspect -q pull hf:org/tiny
	for where in 'GET hub' 'HEAD hub' 'GET cdn'; do
		modes "$where * : bomb=70"
		fails 1 'more than 64 KiB of headers' infer-inspect -q pull hf:org/tiny
	done
	is_empty
	# what ends early is asked for again; ranges are refused
	modes 'GET cdn * : cut=1000000 times=7' 'GET cdn * : norange'
	pull hf:org/tiny >out
	cmp "$(cat out)" "$M"
}

@test "certificates are checked" {
	command -v openssl >openssl || skip 'no openssl'
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 \
		-subj /CN=localhost -addext 'subjectAltName=IP:127.0.0.1,DNS:localhost' 2>why
	kill "$HUB"
	hub cert.pem key.pem
	case $HF_ENDPOINT in https://*) ;; *) return 1 ;; esac
	fails 1 'the certificate of 127.0.0.1 is not trusted' infer-inspect -q pull hf:org/tiny
	is_empty
	SSL_CERT_FILE=$PWD/cert.pem infer-inspect pull hf:org/tiny >out 2>said
	cmp "$(cat out)" "$M"
	# nor is a redirect from https to http followed
	modes 'GET hub /api/* : loop location=http://127.0.0.1/x'
	SSL_CERT_FILE=$PWD/cert.pem fails 1 'redirected from https to http' infer-inspect -q pull hf:org/big
}

# bytes on disk of the unfinished download, in KiB
so_far() { stat -c '%b' cache/models--org--big/blobs/*.inferutils 2>/dev/null | awk '{ n += $1 / 2 } END { print int(n) }'; }

@test "kill -9 at 20 points of a download: never a file under its name before it is whole, and it goes on" {
	modes 'GET cdn * : slow=8000000'
	for k in $(seq 0 19); do
		infer-inspect pull hf:org/big >out 2>said 3>&- &
		pid=$!
		# the k-th point: so many KiB, and up to 20 ms more
		while [ "$(so_far)" -lt $((k * 1500 + 100)) ]; do
			kill -0 $pid || { cat said; return 1; }
		done
		sleep "0.0$((RANDOM % 20 + 10))"
		kill -KILL $pid
		wait $pid || :
		is_empty
	done
	before=$(so_far)
	[ "$before" -ge $((19 * 1500)) ]
	: >hub/.log
	pull hf:org/big >out
	cmp "$(cat out)" "$ROOT/org/big/$A/b-Q8_0.gguf"
	same 1 "$(find cache -path '*/blobs/*' -type f | wc -l)"
	# the last download asked for what was missing: each range begins where the one before it ended
	grep -o 'Range: bytes=[0-9-]*' hub/.log | tr '=-' '  ' | awk '{ n += $4 - $3 + 1 } END { exit n == 0 || n > 40000000 - 19 * 1500 * 1024 + 3 * 1048576 }'
}

@test "no libcurl: it is named; what the cache has is found without it" {
	pull hf:org/tiny >out
	mkdir lib
	for f in libcurl.so.4 libcurl-gnutls.so.4; do echo none >lib/$f; done
	same "$(cat out)" "$(LD_LIBRARY_PATH=$PWD/lib infer-inspect pull hf:org/tiny 2>said)"
	LD_LIBRARY_PATH=$PWD/lib fails 3 'there is no libcurl.* install the package libcurl4' infer-inspect -q pull hf:org/big
}
