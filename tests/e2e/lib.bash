# shellcheck shell=bash
# What the cases share.  Loaded by each file; run from the top of the tree.  B: the build (default build/release).
bats_require_minimum_version 1.5.0
TOP=${BATS_TEST_DIRNAME%/tests/*}
B=${B:-$TOP/build/release}
export TOP B PATH=$B:$B/tests/tools:$PATH

# small, words only, answers in milliseconds: byte-level BPE without BOS, and SentencePiece with it
setup_file()
{
	unset INFER_MODEL INFER_ISA INFER_THREADS INFER_SERVER CDPATH
	export M=$BATS_FILE_TMPDIR/bpe.gguf SPM=$BATS_FILE_TMPDIR/spm.gguf
	export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache # what is measured once
	mkmodel "$M"
	mkmodel --tok spm "$SPM"
	cd "$BATS_FILE_TMPDIR" || return
	export INFER_MODEL=$M
	if declare -F setup_more >/dev/null; then setup_more; fi
}

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# fails CODE REGEX COMMAND...: it ends with CODE, nothing on stdout, and one line on stderr that REGEX finds
fails()
{
	local code=$1 regex=$2 rc=0

	shift 2
	"$@" >out 2>err </dev/null || rc=$?
	if [ "$rc" = "$code" ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -qE "^infer-(run|inspect|bench|quant|serve): error: .*$regex" err; then
		return 0
	fi
	echo "wanted $code and '$regex', got $rc:"
	cat out err
	return 1
}

# same A B: equal texts, not empty: two commands that fail alike are not the same
same()
{
	if [ -n "$1" ] && [ "$1" = "$2" ]; then
		return 0
	fi
	printf 'differ:\n%s\n%s\n' "$1" "$2"
	return 1
}

# slow_model FILE OPTION...: a model of mkmodel --ctx 100000 that computes for long.  TEST_FAST: the built-in model stands in for it, with
# that context, to show that cases wait for a state and not for a speed
slow_model()
{
	if [ -z "${TEST_FAST:-}" ]; then
		mkmodel --ctx 100000 "${@:2}" "$1"
	else
		perl -0777 -pe 's/(llama\.context_length\x04\0\0\0)..../$1 . pack "V", 100000/se or die "no context_length"' \
			"$TOP/libcore/demo/demo.gguf" >"$1"
	fi
}

# doubled N MOST COMMAND...: COMMAND with N, 2 N, 4 N ... as its last argument, until it succeeds; it fails if it needs more than MOST.
# For work that must take long enough to be seen, however fast the machine is.
doubled()
{
	local n=$1 most=$2

	shift 2
	while [ "$n" -le "$most" ]; do
		if "$@" "$n"; then return 0; fi
		n=$((2 * n))
	done
	echo "not with $most either: $*"
	return 1
}

# json PATH: values at PATH (a.b.0; a.# is a length) of each JSON line of standard input, one a line; every line must parse
json()
{
	perl -MJSON::PP -e '
		my $path = shift;
		while (my $line = <STDIN>) {
			my $v = decode_json($line);
			for my $k (split /\./, $path) {
				if ($k eq "#") { $v = scalar @$v }
				else { $v = ref $v eq "ARRAY" ? $v->[$k] : $v->{$k} }
			}
			print ref $v ? encode_json($v) : defined $v ? $v : "null", "\n";
		}' "$1"
}

# the folder ../shared next to the tree: real models, tokenizers and measured truths that are not ours to publish; cases that need it are
# left out without it
SHARED=$TOP/../shared
need_shared()
{
	[ -e "$SHARED/$1" ] && return
	[ "${NEED_SHARED:-0}" != 1 ] || { echo "NEED_SHARED=1, and no $SHARED/$1"; return 1; }
	skip "needs ../shared/$1, real models and data that are not part of the sources"
}

