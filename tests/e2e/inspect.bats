# infer-inspect
load lib

@test "show is what is done where nothing is named; it says format, sizes, id and every key" {
	infer-inspect >a 2>err
	infer-inspect show -m "$M" | cmp - a
	[ ! -s err ]
	grep -q '^format .*gguf version 3' a
	grep -q "^bytes .*$(stat -c %s "$M")" a
	grep -q '^general.architecture  string  llama$' a
	grep -Eq '^id +[0-9a-f]{64}$' a
	n=$(sed -n 's/^metadata *\([0-9]*\) keys/\1/p' a)
	same "$n" "$(sed '1,/^$/d' a | wc -l)"
}

@test "show begins with whether the model runs here, and with the memory that it takes" {
	mkmodel --ctx 100000 long.gguf
	infer-inspect long.gguf >a
	same 'runs here: yes' "$(head -n 1 a)"
	grep -q '^model      llama, .* million parameters, 2 layers, a context of 100000 tokens$' a
	same '4096 32768 100000 ' "$(grep -oE '^(memory|      ) +[0-9]+: .* \(weights .*, cache .*, work .*\)$' a | grep -oE '[0-9]+:' | tr -d : | tr '\n' ' ')"
	infer-inspect --json long.gguf | head -n 1 >b
	same true "$(json runs <b)"
	same 4096 "$(json memory.0.ctx <b)"
	[ "$(json memory.2.kv_bytes <b)" -gt "$(json memory.1.kv_bytes <b)" ]
	# what the engine takes for that context with one thread
	infer-run -m long.gguf -t 1 -c 4096 --no-stdin -n 1 -v --stats the 2>err >/dev/null
	grep -q "a cache of $(json memory.0.kv_bytes <b | awk '{ printf "%.1f", $1 / 1048576 }') MiB for 1 sequence of up to 4096 tokens, and " err
	same "$(grep '^{' err | json workspace_bytes)" "$(json memory.0.workspace_bytes <b)"
}

@test "show says why a model does not run, and shows it all the same" {
	perl -0777pe 's/(general\.architecture.{12})llama/$1lmala/s' "$M" >odd.gguf
	infer-inspect odd.gguf >a 2>err
	[ ! -s err ]
	same 'runs here: no: architecture lmala is not supported; these run: llama, granite, qwen2, qwen3, qwen3moe, gemma2, gemma3, gemma3n, gemma4, lfm2, lfm2moe, phi3, gpt-oss, qwen2moe, smollm3, olmo2 ...' "$(head -n 1 a)"
	grep -q '^general.architecture  string  lmala$' a
	same false "$(infer-inspect --json odd.gguf | head -n 1 | json runs)"
	infer-inspect --json odd.gguf | head -n 1 | json why | grep -q '^architecture lmala is not supported'
}

@test "show is one page, and --all is everything" {
	infer-inspect -m demo >a
	same 40 "$(wc -l <a)"
	[ "$(wc -L <a)" -le 80 ]
	tail -n 1 a | grep -qE '^\.\.\. and [0-9]+ more keys: --all shows them'
	infer-inspect -m demo --all >b
	same "$(sed -n 's/^metadata *\([0-9]*\) keys/\1/p' b)" "$(sed '1,/^$/d' b | wc -l)"
	grep -q '^general.description  string  tells short stories about a hero, a place' b
	fails 2 '--all goes with show and hw only' infer-inspect tensors --all
}

@test "show says what the model is: dimensions, types, vocabulary, template, licence" {
	infer-inspect -m demo >a
	grep -q '^shape      width 256, .* heads of .*, .* of keys, ff 768$' a
	grep -qE '^types      Q8_0 [0-9.]+ %' a
	grep -qE '^vocabulary 1024 tokens, bpe' a
	grep -q '^template   .*; answers: ' a
	infer-inspect -m demo --json | head -n 1 >b
	same 256 "$(json model.width <b)"
	same "$(json tensor_bytes <b)" "$(perl -ne '/"types":\[(.*?)\]/ or die; $s += $_ for $1 =~ /"size_bytes":(\d+)/g; print "$s\n"' b)"
	infer-inspect "$SPM" >c
	grep -q '^vocabulary .*, spm; begin 1 <s>; end 2 </s>' c
}

@test "files are named as arguments; one that fails does not keep the others from being shown" {
	infer-inspect -m "$M" >a
	infer-inspect "$M" | cmp - a
	infer-inspect show "$M" | cmp - a
	infer-inspect tensors "$M" | cmp - <(infer-inspect tensors -m "$M")
	infer-inspect verify "$M" | cmp - <(infer-inspect verify -m "$M")
	printf '<html>' >page.gguf
	rc=0
	infer-inspect "$M" page.gguf absent.gguf "$M" >b 2>err || rc=$?
	same 3 "$rc"
	{ cat a; echo; cat a; } | cmp - b
	same 2 "$(wc -l <err)"
	grep -q 'page.gguf: this is an HTML page' err
	grep -q 'absent.gguf: No such file' err
	same '2' "$(infer-inspect --json "$M" "$M" | grep -c '"kind":"file"')"
	fails 2 "a model is named with -m or as an argument: '$M'" infer-inspect -m demo "$M"
	fails 1 'shwo: No such file' infer-inspect shwo
	fails 2 'hw takes no argument' infer-inspect hw "$M"
}

@test "show --json has every value whole" {
	infer-inspect show --json >a
	same file "$(head -n 1 a | json kind)"
	same 1 "$(head -n 1 a | json v)"
	same 1024 "$(grep '"tokenizer.ggml.tokens"' a | json value.#)"
	same llama "$(grep '"general.architecture"' a | json value)"
	same 512 "$(grep '"llama.context_length"' a | json value)"
}

@test "a record begins with its kind, the first of a stream with the version before it" {
	for what in show tensors 'tokens --no-stdin the of' 'template -m demo' verify hw; do
		# shellcheck disable=SC2086
		infer-inspect $what --json >a
		head -n 1 a | grep -q '^{"v":1,"kind":"[a-z]*",'
		if sed 1d a | grep -vq '^{"kind":"[a-z]*",'; then return 1; fi
	done
	infer-run -q --temp 0 -n 1 --raw --stats the 2>&1 >/dev/null | grep -q '^{"v":1,"kind":"stats",'
}

@test "tensors: offsets and sizes are those of the file" {
	infer-inspect tensors --json >a
	end=0
	while read -r off size; do
		[ "$off" -ge "$end" ]
		end=$((off + size))
	done < <(paste -d' ' <(json offset_bytes <a) <(json size_bytes <a))
	[ "$end" -le "$(stat -c %s "$M")" ]
	same "$(wc -l <a)" "$(infer-inspect tensors | tail -n +2 | wc -l)"
	same '[64,1024]' "$(grep '"token_embd.weight"' a | json shape)"
	same 32 "$(grep '"token_embd.weight"' a | json bits_per_weight)"
}

@test "tensors: bits per weight count the scales" {
	mkmodel --type q8_0 q8.gguf
	same 8.5 "$(infer-inspect tensors -m q8.gguf --json | grep '"blk.0.attn_q.weight"' | json bits_per_weight)"
	mkmodel --type q4_k --embd 256 q4.gguf
	same 4.5 "$(infer-inspect tensors -m q4.gguf --json | grep '"blk.0.attn_q.weight"' | json bits_per_weight)"
}

@test "tensors: sorted, filtered, with statistics that a sum over the values gives" {
	infer-inspect tensors --sort bytes --json >a
	perl -ne '/"size_bytes":(\d+)/ or die; die "unsorted\n" if defined $was && $1 > $was; $was = $1' a
	same "$(infer-inspect tensors | wc -l)" "$(infer-inspect tensors --sort name | wc -l)"
	infer-inspect tensors --sort name | tail -n +2 | awk '{ print $NF }' >b
	LC_ALL=C sort -c b
	same 2 "$(infer-inspect tensors --filter 'blk.[01].attn_q.weight' --json | wc -l)"
	same "$(infer-inspect tensors --json | grep -c attn_q)" "$(infer-inspect tensors --filter attn_q --json | wc -l)"
	infer-inspect tensors --filter output_norm --stats --json >c
	at=$(json offset_bytes <c) n=$(($(json size_bytes <c) / 4))
	tail -c +$((at + 1)) "$M" | head -c $((4 * n)) | perl -e '
		local $/; my @x = unpack "f<*", <STDIN>; my ($s, $lo, $hi) = (0, $x[0], $x[0]);
		for (@x) { $s += $_ * $_; $lo = $_ if $_ < $lo; $hi = $_ if $_ > $hi }
		printf "%.6g %.6g %.6g\n", $lo, $hi, sqrt($s / @x)' >d
	same "$(cat d)" "$(printf '%.6g %.6g %.6g' "$(json least <c)" "$(json most <c)" "$(json rms <c)")"
	same "$n" "$(perl -ne '/"histogram":\[([\d,]+)\]/ or die; $s += $_ for split /,/, $1; print "$s\n"' c)"
	infer-inspect tensors --stats --sort rms | head -n 1 | grep -q 'rms  outliers histogram'
	fails 2 "'size' is not a column" infer-inspect tensors --sort size
	fails 2 'goes with --stats' infer-inspect tensors --sort rms
	fails 2 'go with tensors only' infer-inspect show --stats
}

@test "tokens: the ids of infer-run --tokenize, with pieces" {
	a=$(infer-run --tokenize --no-stdin 'the of')
	same "$a" "$(infer-inspect tokens --no-stdin 'the of' | awk '{ print $1 }' | tr '\n' ' ' | sed 's/ $//')"
	same "$a" "$(printf 'the of\n' | infer-inspect tokens --json | json id | tr '\n' ' ' | sed 's/ $//')"
	same 'the of' "$(infer-inspect tokens --no-stdin --json the of | json text | tr -d '\n')"
	fails 2 'no text' infer-inspect tokens --no-stdin
}

@test "verify: the sha256 that sha256sum prints, and that all is finite" {
	sum=$(sha256sum "$M" | cut -d' ' -f 1)
	infer-inspect verify >a 2>err
	[ ! -s err ]
	grep -q "^sha256  $sum" a
	same "$sum" "$(infer-inspect verify --json | json sha256.0)"
	same true "$(infer-inspect verify --json | json finite)"
	same "$(infer-inspect --json | head -n 1 | json id)" "$(infer-inspect verify --json | json id)"
}

@test "verify: a weight that is not finite exits with 3 and names tensor and byte" {
	for t in f32 f16 bf16 q8_0 q4_0; do
		mkmodel --type $t w.gguf
		off=$(infer-inspect tensors -m w.gguf --json | grep '"blk.1.ffn_up.weight"' | json offset_bytes)
		printf '\377\177\377\177' | dd of=w.gguf bs=1 seek="$off" conv=notrunc 2>/dev/null
		fails 3 'blk.1.ffn_up.weight' infer-inspect verify -m w.gguf
	done
}

# its definition, by another program: the headers, the size, 4 KiB from the middle of each tensor
id_of() # FILE...: the shards
{
	infer-inspect tensors --json -m "$1" >table
	infer-inspect show --json -m "$1" | head -n 1 >shown
	perl -MDigest::SHA -MJSON::PP -e '
		my (@text, @header, $size, $tail);
		for (@ARGV) { open my $in, "<:raw", $_ or die $_; local $/; push @text, <$in>; $size += length $text[-1] }
		open my $t, "<", "table" or die;
		my @t = map { decode_json($_) } <$t>;
		for my $i (0 .. $#text) {
			# a header ends with the offset of its last tensor, before what fills up to its first
			my @mine = grep { $_->{shard} == $i } @t;
			my ($first) = sort { $a <=> $b } map { $_->{offset_bytes} } @mine;
			my $last = $mine[-1]{name};
			my $at = rindex(substr($text[$i], 0, $first), pack("Q<", length $last) . $last);
			my $d = unpack("V", substr($text[$i], $at + 8 + length $last, 4));
			push @header, substr($text[$i], 0, $at + 8 + length($last) + 4 + 8 * $d + 4 + 8);
		}
		for (@t) {
			my $n = $_->{size_bytes} < 4096 ? $_->{size_bytes} : 4096;
			$tail .= substr($text[$_->{shard}], $_->{offset_bytes} + int(($_->{size_bytes} - $n) / 2), $n);
		}
		print Digest::SHA::sha256_hex(join("", @header), pack("Q<", $size), $tail), "\n"' "$@"
	json id <shown
}

@test "the id is that of the definition: one file, a split one, a compressed one, and the built-in model" {
	mkmodel --type q8_0 --vocab 3000 a.gguf
	mkmodel --type q8_0 --vocab 3000 --split 3 part
	same 1 "$(id_of a.gguf | sort -u | wc -l)"
	same 1 "$(id_of part-0000?-of-00003*.gguf | sort -u | wc -l)"
	zstd -q a.gguf
	same "$(infer-inspect --json a.gguf | head -n 1 | json id)" "$(infer-inspect --json a.gguf.zst | head -n 1 | json id)"
	same "$(infer-inspect --json demo | head -n 1 | json id)" "$(infer-inspect --json "$TOP/libcore/demo/demo.gguf" | head -n 1 | json id)"
}

@test "the id changes with the header, and with the middle of every tensor" {
	id() { infer-inspect --json -m "$1" | head -n 1 | json id; }
	mkmodel --seed 2 other.gguf
	same "$(stat -c %s "$M")" "$(stat -c %s other.gguf)"
	[ "$(id "$M")" != "$(id other.gguf)" ]
	perl -0pe 's/random/Random/' "$M" >b.gguf
	[ "$(id "$M")" != "$(id b.gguf)" ]
	# each byte that counts, and those before and after
	infer-inspect tensors --json -m "$M" >table
	changed() { # TENSOR BYTE
		perl -MJSON::PP -e '
			open my $t, "<", "table" or die; my @t = map { decode_json($_) } <$t>;
			open my $in, "<:raw", $ARGV[0] or die; local $/; my $s = <$in>; my $b = $t[$ARGV[1]];
			my $from = $b->{size_bytes} < 4096 ? 0 : int(($b->{size_bytes} - 4096) / 2);
			substr($s, $b->{offset_bytes} + $from + $ARGV[2], 1) ^= "\x01"; print $s' "$M" "$1" "$2" >c.gguf
		id c.gguf
	}
	for i in $(seq 0 $(($(wc -l <table) - 1))); do
		[ "$(id "$M")" != "$(changed "$i" 0)" ]
	done
	same 262144 "$(head -n 1 table | json size_bytes)"
	[ "$(id "$M")" != "$(changed 0 4095)" ]
	same "$(id "$M")" "$(changed 0 -1)"
	same "$(id "$M")" "$(changed 0 4096)"
}

@test "a split model is read from any of its files, and says what the whole one says" {
	mkmodel --seed 4 whole.gguf
	mkmodel --seed 4 --split 3 part
	parts=(part-0000?-of-00003*)
	same 3 "${#parts[@]}"
	a=$(infer-run -q -m whole.gguf --temp 0 --no-stdin -n 8 the)
	for p in "${parts[@]}"; do
		same "$a" "$(infer-run -q -m "$p" --temp 0 --no-stdin -n 8 the)"
	done
	same 3 "$(infer-inspect verify --json -m "${parts[1]}" | json sha256.#)"
	mv "${parts[2]}" away
	fails 1 '00003-of-00003' infer-inspect -m "${parts[0]}"
}

@test "hw names processor, kernel sets and limits" {
	infer-inspect hw --json >a
	same hw "$(json kind <a)"
	same ref "$(json kernels.0.name <a)"
	same true "$(json kernels.0.usable <a)"
	[ "$(json threads <a)" -ge 1 ]
	[ "$(json memory_bytes <a)" -gt 0 ]
	infer-inspect hw | grep -q '^kernels *ref'
}

@test "hw measures once, and again where it is asked to; what is measured is kept, and read as a description" {
	export XDG_CACHE_HOME=$PWD/cache
	infer-inspect hw --json >a
	infer-inspect hw --json >b
	same "$(json measured.memory_gb_s <a)" "$(json measured.memory_gb_s <b)"
	same "$(json threads <a)" "$(json measured.threads <a)"
	for figure in memory_gb_s huge_gb_s cached_gb_s f32_gflop_s i8_gop_s barrier_ns; do
		awk -v x="$(json measured.$figure <a)" 'BEGIN { exit !(x > 0) }'
	done
	same 'no GPU support in this build' "$(json gpu <a)"
	ls cache/inferutils/hw-*.json
	echo '{"name":' >"$(ls cache/inferutils/hw-*.json)" # torn: measured again
	infer-inspect hw >c
	grep -q '^read  *measured' c
	infer-inspect hw --hw ./a --json >d
	for figure in memory_gb_s f32_gflop_s read.0.gb_s kernels; do
		same "$(json measured.$figure <a)" "$(json measured.$figure <d)"
	done
}

@test "hw --hw: parts of the library, several of them beside a host, and what is no machine" {
	infer-inspect hw --hw all >a
	grep -q '^h100 .*NVIDIA H100' a
	infer-inspect hw --hw 'h100*8' --json >b
	same 8 "$(json described.gpu.count <b)"
	case $(json described.sources.memory_gb_s <b) in https://*) ;; *) false ;; esac
	fails 2 "'h101' is not a machine of the library; did you mean h100" infer-inspect hw --hw h101
	for typed in rtx4090 RTX-4090 4090 'NVIDIA GeForce RTX 4090'; do
		infer-inspect hw --hw "$typed" | grep -q '^name  *NVIDIA GeForce RTX 4090'
	done
	fails 2 'only accelerators can have a number' infer-inspect hw --hw 'epyc-9654*2'
	fails 2 '\* must be followed by a number' infer-inspect hw --hw 'h100*x'
	same 2 "$(infer-inspect hw --hw '2x rtx4090' --json | json described.gpu.count)"
	fails 2 "'raspberry pi' is not a machine of the library; did you mean raspberry-pi-5" infer-inspect plan 8B --hw 'raspberry pi'
	infer-inspect hw --hw epyc-9654+rtx-4090 --json >c
	same 1 "$(json described.gpu.count <c)"
	printf 'name: x\nmemory_bytes: 1\n' >y.yaml
	fails 3 'y.yaml: line 1, column 1: a machine needs memory_bytes and memory_gb_s' infer-inspect hw --hw y.yaml
	printf 'name: x\nmemori: 1\n' >y.yaml
	fails 3 "y.yaml: line 2, column 1: 'memori' is not a figure of a machine" infer-inspect hw --hw y.yaml
	fails 1 'No such file' infer-inspect hw --hw ./none.yaml
	fails 2 'go with hw and plan only' infer-inspect show --again
}

# a host of round numbers
host() { printf 'name: host\nthreads: 4\nmemory_bytes: %s\nmemory_gb_s: 50\nf32_gflop_s: 500\ni8_gop_s: 2000\ndecode_part: 0.8\nprefill_part: 0.6\n' "$1"; }

@test "plan answers the ten questions by name, and gives three strategies with lines that are taken" {
	host 8000000000 >h.yaml
	infer-inspect plan -m demo --hw ./h.yaml --users 4 --price 1 >a
	sed -n 1p a | grep -qE '^verdict +runs well: [0-9.]+ tokens/s for each of 4 users, the first after .*; limited by '
	sed -n 2p a | grep -qE '^do this +infer-serve -m demo '
	! grep -q interconnect a # one processor has no link
	for question in hardware 'fast memory' bottleneck concurrency prefixes model kernels cost; do
		grep -q "^$question " a || { cat a; false; }
	done
	same 3 "$(grep -cE '^[123]\. ' a)"
	line=$(grep -m1 -o 'infer-run .*' a)
	printf 'the' >prompt.txt
	eval "${line/demo-*.gguf/demo}" --temp 0 -q >answer # what a strategy says is taken as it is
	[ -s answer ]
	grep -o 'infer-quant .*' a | head -n 1 | sed 's/$/ --dry-run/' | sh >b
	[ -s b ]
}

# the sum of the parts in parentheses and the whole of a line of plan, in MiB
parts() { grep -E "^$1 " "$2" | grep -oE '[0-9.]+ [KMG]iB' | head -n 5 | awk '{ v[NR] = $1 * ($2 == "GiB" ? 1024 : $2 == "MiB" ? 1 : 1 / 1024) } END { print v[1], v[3] + v[4] + v[5] }'; }

@test "plan: parts of the memory add up on accelerators and hosts; the lines are of the strategy that the verdict names" {
	for hw in rtx4090 'rtx4090*2' m4-max raspberry-pi-5; do
		infer-inspect plan 8B --hw "$hw" >a
		parts 'fast memory' a | awk '{ exit !($1 > 1000 && $2 - $1 < 0.02 * $1 && $1 - $2 < 0.02 * $1) }' || { cat a; false; }
	done
	grep -qE '^as it is +does not fit: 15.1 GiB of 8.0 GiB \(weights BF16 15.0 GiB, ' a # of raspberry-pi-5
	type=$(sed -nE '1s/^verdict .* as ([A-Z0-9_]+): .*/\1/p' a)
	grep -qE "^chosen +$type, cache F16: " a
	grep -qE "^fast memory +fits: .*\(weights $type " a
	same "$(sed -nE '1s/.*: ([0-9.]+) tokens.s, the first after ([0-9.]+ s);.*/\1 \2/p' a)" \
		"$(sed -nE 's/^  decode +([0-9.]+) .*/\1/p' a) $(sed -nE 's/^  a request +first token after ([0-9.]+ s),.*/\1/p' a)"
	! grep -q 'memory holds 0' a
}

@test "plan --json: bytes as the engine's own plan has them; predictions below limits; exit 4 with the nearest that fits" {
	host 8000000000 >h.yaml
	infer-inspect plan -m demo --hw ./h.yaml --json --prompt 100 --output 28 >a
	same plan "$(json kind <a)"
	same true "$(json asked.memory.fits <a)"
	same "$(infer-inspect demo --json | head -n 1 | json memory.0.weight_bytes)" "$(json asked.memory.weight_bytes <a)"
	awk -v x="$(json asked.decode_tok_s <a)" -v l="$(json asked.limit_decode_tok_s <a)" 'BEGIN { exit !(x > 0 && x < l) }'
	host 1000000 >small.yaml
	fails 4 'nothing fits: .* there is 0.00; not even a context of 2' infer-inspect plan -m demo --hw ./small.yaml
	host 60000000 >small.yaml
	fails 4 'the nearest that fits: one user, a context of [0-9]+ tokens' infer-inspect plan -m demo --hw ./small.yaml -c 1000000
	fails 2 'cannot hold a prompt' infer-inspect plan -m demo --hw ./h.yaml -c 100 --prompt 100
	fails 2 'go with plan only' infer-inspect show --users 3
	infer-inspect plan -m demo --hw m4-max >b
	sed -n 1p b | grep -q '^verdict .* with another engine, not with this program: '
	sed -n 2p b | grep -q '^do this  *llama.cpp or MLX'
}

@test "plan: what cannot be run is at the end and says so; links are charged; an unknown link is said" {
	infer-inspect plan 70B --hw 'h100*8' --json >a
	same 'here cuda' "$(echo here "$(json strategies.0.runs <a)")"
	same other "$(json "strategies.$(($(grep -o '"aim"' a | wc -l) - 1)).runs" <a)"
	same tensor "$(json "strategies.$(($(grep -o '"aim"' a | wc -l) - 1)).split" <a)"
	# over PCIe a small model gains nothing from cut layers, and no strategy cuts them
	infer-inspect plan 1B --hw 'rtx-4090*2' >b
	grep -qE '^interconnect +no direct link is described; 32 GB/s through the host: one user on all 2: ' b
	! grep -q 'tensor parallel$' b
	same 1 "$(grep -c 'make CUDA=1' b)"
	printf 'name: x\ngpu: {name: NVIDIA X, count: 4, memory_bytes: 20000000000, memory_gb_s: 1000, f16_tflop_s: 100}\n' >x.yaml
	infer-inspect plan 1B --hw ./x.yaml | grep -q '^interconnect  *unknown: not described'
	infer-inspect plan 1B --hw ./x.yaml --json >c
	! grep -q '"split":"tensor"' c
	infer-inspect plan 30B --hw ./x.yaml | grep -q -- '--device cuda --split 1,1,1,1'
}

@test "plan: types below Q3_K are tried; what is slower than asked, or fits nowhere, is exit 4 with the nearest" {
	host 64000000000 >h.yaml
	infer-inspect plan 70B --hw ./h.yaml --budget 25G --json >a
	same Q2_K "$(json strategies.0.type <a)"
	same hardly "$(json verdict.grade <a)"
	infer-inspect plan 70B --hw ./h.yaml --budget 25G | sed -n 1p | grep -q 'hardly usable as Q2_K: .* answers are much worse'
	infer-inspect plan 70B --hw ./h.yaml --budget 16G --json >a
	same IQ1_S "$(json strategies.0.type <a)"
	fails 4 'nothing fits: .*not even .*IQ1_S' infer-inspect plan 70B --hw ./h.yaml --budget 4G
	fails 4 'nearest that fits: one user, a context of 640 tokens, weights Q6_K' infer-inspect plan 8B --hw ./h.yaml --budget 7G --users 400 --kv-type q4_0
	fails 4 'as quick as asked; the nearest: weights Q3_K_M.*: the first token after [0-9]+ ms, then one each [0-9.]+ ms; [0-9]+ users? would' \
		infer-inspect plan 8B --hw ./h.yaml --users 8 --prompt 2k --output 256 --tpot 150
	printf 'name: x\nmemory_bytes: 64000000000\nmemory_gb_s: 50\n' >y.yaml
	fails 4 'no speed is known of x' infer-inspect plan 8B --hw ./y.yaml --ttft 100
}

@test "plan for this machine rehearses decode steps, also in the sandbox, or says why not; one for another machine does not" {
	infer-inspect plan -m demo -v --json >a 2>b
	if [ "$(json decode_times <a)" = null ]; then
		grep -q 'no decode step was rehearsed: other programs had the processors' b
	else
		grep -q 'a decode step was rehearsed: it took [0-9.]* times what' b
		same 1 "$(grep -o decode_times a | wc -l)"
	fi
	host 8000000000 >h.yaml
	infer-inspect plan -m demo -v --json --hw ./h.yaml >a 2>b
	same null "$(json decode_times <a)"
	! grep -q rehearsed b
}

@test "plan: a context beyond training warns" {
	host 64000000000 >h.yaml
	infer-inspect plan -m demo --hw ./h.yaml --prompt 9999 >a 2>b
	grep -q 'warning: a context of 10127 tokens is beyond the [0-9]* that the model was trained for' b
	grep -qE '^warning +the context of 10127 tokens is beyond the ' a
	infer-inspect plan -m demo --hw ./h.yaml --prompt 9999 -q >a 2>b
	[ ! -s b ]
}

@test "plan: usual models by name, gpt-oss in MXFP4 as it was released" {
	host 64000000000 >h.yaml
	for name in qwen3-8b Mistral-7B mistral-7b-instruct Qwen2.5-7B-Instruct gemma-3-27b-it phi-4 DeepSeek-R1-Distill-Llama-8B:Q4_K_M; do
		infer-inspect plan $name --hw ./h.yaml >a
		grep -q '^assumed ' a
	done
	infer-inspect plan gpt-oss-20b --hw ./h.yaml >a
	grep -qE '^assumed .*, weights MXFP4 \(experts\) and BF16$' a
	grep -qE 'weights MXFP4 12\.[89] GiB' a # 13.76 GB on huggingface.co
	infer-inspect plan gpt-oss-20b:mxfp4 --hw ./h.yaml | diff a -
	infer-inspect plan gpt-oss-20b --hw ./h.yaml --table >b
	grep -qE '^\./h\.yaml +MXFP4 +4096 +yes +1[23]\.' b
	infer-inspect plan gpt-oss-20b:Q4_K_M --hw ./h.yaml --json >b # rows of 2880 are not blocks of 256: Q5_0, 5.5 bits
	awk -v x="$(json asked.memory.weight_bytes <b)" 'BEGIN { exit !(x > 14.3e9 && x < 14.8e9) }'
	infer-inspect plan gpt-oss-20b:BF16 --hw ./h.yaml | grep -qE '^assumed .*, weights BF16$'
	infer-inspect plan 8B:MXFP4 --hw ./h.yaml | grep -qE 'weights MXFP4 (3.9|4.0) GiB' # 8.03e9 of 4.25 bits
	host 1000000000 >small.yaml
	fails 4 'nothing fits: 1 user of 640 tokens takes [0-9.]+ GiB' infer-inspect plan 70B --hw ./small.yaml
	fails 4 'nothing fits: 2 users of 640 tokens take [0-9.]+ GiB' infer-inspect plan 70B --users 2 --hw ./small.yaml
}

@test "plan: a size class or a config.json without weights" {
	host 64000000000 >h.yaml
	infer-inspect plan 8B --hw ./h.yaml >a
	grep -qE '^assumed +Llama-3.1-8B: 32 layers of 4096, 32 heads over 8 of 128, feed-forward 14336, vocabulary 128256, weights BF16' a
	grep -q 'infer-quant --type [A-Z0-9_]* MODEL.gguf' a
	infer-inspect plan 30b-a3b --hw ./h.yaml --json >a
	same Qwen3-30B-A3B "$(json assumed <a)"
	awk -v x="$(json active_params <a)" 'BEGIN { exit !(x > 2.9e9 && x < 3.4e9) }' # 0.3 of the 3.3 are the embedding table
	same 40960 "$(json ctx_train <a)"
	fails 2 "no usual model has the size '9000B'" infer-inspect plan 9000B --hw ./h.yaml
	infer-inspect plan 8B --hw ./h.yaml | diff - <(infer-inspect plan llama-3.1-8b --hw ./h.yaml) # the name that is said
	infer-inspect plan 8B --hw ./h.yaml --json >b
	infer-inspect plan 8B:q4_k_m --hw ./h.yaml --json >c # of the bytes that the same strategy of 8B has
	same Q4_K "$(json asked.type <c)"
	same "$(grep -o '"type":"Q4_K","ctx.*' b | grep -oE '"weight_bytes":[0-9.e+]+' | head -n 1)" "$(grep -oE '"weight_bytes":[0-9.e+]+' c | head -n 1)"
	infer-inspect plan 8B:Q4_K_M --hw ./h.yaml | grep -qE '^assumed .*, weights Q4_K_M$'
	infer-inspect plan 1B:F16 --hw ./h.yaml --json | json asked.type | grep -qx F16
	fails 2 "'Q9' is not a type of plan: BF16, .*IQ1_S" infer-inspect plan 8B:Q9 --hw ./h.yaml
	fails 2 "'qwen3-9b' is neither a file nor a usual model; near: Qwen3-.*; infer-inspect\(1\) lists the names" infer-inspect plan qwen3-9b --hw ./h.yaml
	fails 2 "near: Mistral-7B" infer-inspect plan mistral --hw ./h.yaml
	fails 2 "'Qwen3-9B:Q8_0' .*near: Qwen3-" infer-inspect plan Qwen3-9B:Q8_0 --hw ./h.yaml
	for word in frobnicate 8B-Q4_K_M; do
		fails 2 "'$word' is neither a file nor a size; plan takes a file, a size .*8B:Q4_K_M.*hf:ORG/REPO" infer-inspect plan $word --hw ./h.yaml
	done
	fails 1 'No such file' infer-inspect plan none.gguf --hw ./h.yaml
	mkdir m
	cat >m/config.json <<-'EOF'
		{"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,
		 "head_dim":128,"intermediate_size":6144,"moe_intermediate_size":768,"num_experts":128,"num_experts_per_tok":8,
		 "vocab_size":151936,"max_position_embeddings":40960,"torch_dtype":"bfloat16"}
	EOF
	infer-inspect plan m/config.json --hw ./h.yaml --json >b
	same "$(json params <a)" "$(json params <b)"
	same "$(json asked.memory.weight_bytes <a)" "$(json asked.memory.weight_bytes <b)"
	infer-inspect plan -m m/config.json --hw ./h.yaml | grep -q 'infer-quant --type [A-Z0-9_]* m m-'
	mv m/config.json m/other.json # by any name that ends in .json
	infer-inspect plan m/other.json --hw ./h.yaml --json >c
	same "$(json params <b)" "$(json params <c)"
	infer-inspect plan m/other.json --hw ./h.yaml | grep -q 'infer-quant --type [A-Z0-9_]* MODEL.gguf'
	echo '{"a":1}' >m/none.json
	fails 3 'm/none.json: "model_type" must be a string' infer-inspect plan m/none.json --hw ./h.yaml
	echo '{"model_type":"mamba2"}' >m/config.json
	fails 3 'm/config.json: a model of type "mamba2" is not planned from its config.json' infer-inspect plan m/config.json --hw ./h.yaml
	echo '{"model_type":"llama","num_hidden_layers":0}' >m/config.json
	fails 3 'm/config.json: .*num_hidden_layers' infer-inspect plan m/config.json --hw ./h.yaml
	fails 1 'No such file' infer-inspect plan none/config.json --hw ./h.yaml
}

@test "plan --table: types and contexts of a machine; machines of a model" {
	host 8000000000 >h.yaml
	infer-inspect plan -m demo --hw ./h.yaml --table >a
	grep -qE '^\./h.yaml +Q8_0 +4096 +yes' a
	infer-inspect plan -m demo --hw all --json >b # --table is implied
	same "$(infer-inspect hw --hw all | wc -l)" "$(wc -l <b)"
	same '"v"' "$(head -n 1 b | cut -c 2-4)"
	grep -q 'NVIDIA H200' b
}

@test "hw: the cores are those the process may use" {
	same 1 "$(taskset -c 0 infer-inspect hw --json | json threads)"
}

@test "every field of every record is defined in infer-jsonl(5)" {
	page=$BATS_TEST_DIRNAME/../../man/infer-jsonl.5
	{
		infer-inspect show --json; infer-inspect tensors --json; infer-inspect tokens --json --no-stdin the
		printf '\xff' | infer-inspect tokens --json --raw; infer-inspect verify --json; infer-inspect hw --json
		infer-run -q --no-stdin --json --logprobs 2 -n 4 the; infer-run -q --no-stdin -o tokens --logprobs 2 -n 4 the
		infer-run -q --no-stdin --score --json the of; infer-run -q --no-stdin --stats -n 2 the 2>&1 >/dev/null
		infer-run -q --no-stdin --json -c 64 "$(yes the | head -n 99 | tr '\n' ' ')" 2>/dev/null || true
	} >records
	perl -MJSON::PP -e '
		my (%known, %kind);
		open my $p, "<", shift or die;
		while (<$p>) {
			if (/^\.Ss (\S+)$/) { $kind{$1} = 1 }
			elsif (/^\.(?:It |Pq )?Va (.*)/) { $known{$_} = 1 for split / ,? ?/, $1 }
		}
		my %seen;
		sub walk { my $v = shift;
			if (ref $v eq "HASH") { for my $k (keys %$v) { $seen{$k} = 1; walk($v->{$k}) } }
			elsif (ref $v eq "ARRAY") { walk($_) for @$v } }
		while (<STDIN>) { my $r = decode_json($_); $kind{$r->{kind}} or die "kind $r->{kind} is not defined\n"; walk($r) }
		my @not = grep { !$known{$_} } sort keys %seen;
		die "not defined: @not\n" if @not;
		die "too few fields seen\n" if keys %seen < 60;' "$page" <records
}

# write a float at the first value of the second tensor of MODEL
poke() # MODEL VALUE
{
	at=$(infer-inspect tensors --json "$1" | sed -n 2p | json offset_bytes)
	perl -e 'open my $f, "+<", $ARGV[0] or die; seek $f, $ARGV[1], 0; print $f pack("f<", $ARGV[2])' "$1" "$at" "$2"
}

@test "diff: nothing, keys, tensors that one file lacks, types and values; the exit code says whether there is anything" {
	infer-inspect diff "$M" "$M" >a
	same 2 "$(wc -l <a)"
	grep -qE '^0 differences; [0-9]+ keys and [0-9]+ tensors are the same$' a
	mkmodel --type f32 one.gguf
	cp one.gguf two.gguf
	poke one.gguf 3
	poke two.gguf 4
	rc=0
	infer-inspect diff one.gguf two.gguf >a || rc=$?
	same 8 "$rc"
	name=$(infer-inspect tensors --json one.gguf | sed -n 2p | json name)
	grep -qE "^~ $name  F32  [0-9 x]+  error [0-9.e+-]+, largest 1$" a
	infer-inspect diff --json one.gguf two.gguf >b || true
	same 2 "$(wc -l <b)"
	head -n 1 b >first
	same "1 diff tensor $name 1" "$(for k in v kind of name error_max; do json $k <first; done | paste -sd' ')"
	# one of n values is 1 away
	n=$(($(json a.size_bytes <first) / 4))
	perl -e 'exit !(abs($ARGV[0] * sqrt($ARGV[1]) - 1) < 1e-6)' "$(json error_rms <first)" "$n"
	same "file 1" "$(tail -n 1 b | json of) $(tail -n 1 b | json differences)"
	# another model: shapes, keys and names
	mkmodel --type f32 --layers 3 --embd 128 --chat more.gguf
	infer-inspect diff one.gguf more.gguf >a || true
	grep -q '^- .*block_count  u32  2$' a
	grep -q '^+ .*block_count  u32  3$' a
	grep -qE '^- token_embd.weight  F32  64 x [0-9]+$' a
	grep -qE '^\+ token_embd.weight  F32  128 x [0-9]+$' a
	grep -qE '^\+ blk.2.attn_q.weight' a
	grep -qE '^\+ tokenizer.chat_template  string' a
	same null "$(infer-inspect diff --json one.gguf more.gguf | grep '"blk.2.attn_q.weight"' | json a)"
	fails 2 'diff takes two files' infer-inspect diff one.gguf
	fails 2 'diff takes two files' infer-inspect diff -m one.gguf two.gguf
	fails 1 'absent.gguf: No such file' infer-inspect diff one.gguf absent.gguf
}

@test "grammar shows what a constraint takes; the file is what its name or its text says" {
	echo '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}' >s.json
	infer-inspect grammar s.json >a
	grep -q '^form      json_schema$' a
	grep -Eq '^bytes     [0-9]+ \(' a
	grep -Eq '^compiled  [0-9.e-]+ ms, [0-9]+ steps$' a
	grep -Eq '^automata  [0-9]+, with [0-9]+ states$' a
	same json_schema "$(infer-inspect grammar --json - <s.json | json form)"
	same null "$(infer-inspect grammar --json '{"type":"null"}' | json name)"
	echo 'root ::= "a" | "b"' >rules
	same grammar "$(infer-inspect grammar --json rules | json form)"
	echo 'a{2}|c' >word
	same regex "$(infer-inspect grammar --json word | json form)"
	fails 5 'line 1 of the grammar' infer-inspect grammar --as gbnf word
	fails 5 'json_schema: line 1, column 1' infer-inspect grammar --as schema word
	fails 1 'absent: No such file' infer-inspect grammar absent
	fails 2 'grammar takes one file, or the text of a schema' infer-inspect grammar
	fails 2 'go with grammar only' infer-inspect hw --sample 3
	fails 2 'grammar takes no model' infer-inspect grammar -m demo s.json
}

@test "grammar --check says where a text fails, and exits with 8" {
	echo '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}' >s.json
	printf ' {\t"a"\r\n : 1 } \n' >good
	printf '{"a":\n 1.5}' >bad
	printf '{"a":1' >short
	infer-inspect grammar s.json --check good >a
	same 'good: accepted' "$(cat a)"
	rc=0
	infer-inspect grammar s.json --check good --check bad --check short >a || rc=$?
	same 8 "$rc"
	same 'bad: not accepted: line 2, byte 10' "$(sed -n 2p a)"
	same 'short: not accepted: line 1, byte 7: something is missing at the end' "$(sed -n 3p a)"
	infer-inspect grammar s.json --json --check bad >a || true
	same 'false 2 10' "$(json checks.0.accepted <a) $(json checks.0.line <a) $(json checks.0.byte <a)"
	printf 'aa\n' >line
	infer-inspect grammar --as regex <(echo 'a+') --check line
	rc=0
	infer-inspect grammar --as regex <(echo 'b+') --check line >a || rc=$?
	same '8 line: not accepted: line 1, byte 1' "$rc $(cat a)"
}

@test "grammar --sample prints texts that satisfy the constraint; a seed repeats them" {
	echo '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}' >s.json
	infer-inspect grammar s.json --sample 20 --seed 1 >a
	same 20 "$(wc -l <a)"
	infer-inspect grammar s.json --sample 20 --seed 1 | cmp - a
	infer-inspect grammar s.json --sample 20 >b
	! cmp -s a b
	while read -r line; do
		printf %s "$line" >one
		infer-inspect grammar s.json --check one >/dev/null
	done <a
	same 20 "$(infer-inspect grammar s.json --sample 20 --seed 1 --json | json samples.#)"
}

@test "grammar --sample gives objects the members that the schema names, --check takes all that it allows" {
	echo '{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a"]}' >s.json
	infer-inspect grammar s.json --sample 50 --seed 1 >a
	local named='\{("[ab]": ?-?[0-9]+(, ?)?){1,2}\}'
	same 50 "$(grep -cEx "$named" a)"
	echo '{"c":[],"a":1.0}' >other
	infer-inspect grammar s.json --check other
	# both at once: each by its own rule
	infer-inspect grammar s.json --check other --sample 50 --seed 1 | tail -n +2 | cmp - a
	infer-inspect grammar "$(sed 's/^{/{"additionalProperties":true,/' s.json)" --sample 50 --seed 1 >b
	grep -qvEx "$named" b
}

@test "grammar exits with 5 and the pointer for what cannot be enforced; --lax-schema ignores it by name" {
	echo '{"properties":{"a":{"format":"phone","maxlength":3}}}' >s.json
	fails 5 '#/properties/a/maxlength: is not a keyword of this draft' infer-inspect grammar s.json
	infer-inspect grammar s.json --lax-schema --json >a 2>err
	same '#/properties/a/maxlength #/properties/a/format' "$(json ignored.0 <a) $(json annotations.0 <a)"
	same 1 "$(grep -c ' is ignored$' err)"
	infer-inspect grammar '{"type":"null","unit":"m"}' >a 2>err
	grep -qx 'infer-inspect: warning: #/unit is ignored' err
	fails 5 'this format is not supported' infer-inspect grammar --strict-formats '{"format":"phone"}'
	fails 5 'this format is not supported' infer-inspect grammar '{"format":"idn-hostname"}'
	infer-inspect grammar --format-annotation '{"format":"idn-hostname"}' >a
	fails 2 'strict-formats' infer-inspect grammar --strict-formats --format-annotation '{"format":"date"}'
}

@test "grammar takes unknown formats, and names with _ or x-, for annotations, which -v names" {
	infer-inspect grammar '{"format":"phone","x-a":1,"_minLength":5,"version":2,"id":3}' >a 2>err
	[ ! -s err ]
	infer-inspect grammar -v '{"format":"phone","x-a":1,"_minLength":5,"version":2,"id":3}' >a 2>err
	same '#/format #/x-a #/_minLength' "$(sed -n 's/^infer-inspect: \(.*\) is an annotation$/\1/p' err | paste -sd' ')"
}

@test "grammar refuses what is much like a keyword, with the keyword" {
	local pair
	for pair in minlength:minLength minitems:minItems maxitems:maxItems inclusiveMinimum:minimum \
		inclusiveMaximum:maximum additonalProperties:additionalProperties additionalProperty:additionalProperties \
		exclusiveMinumum:exclusiveMinimum propertyname:propertyNames require:required; do
		fails 5 "#/${pair%:*}: is not a keyword of this draft; ${pair#*:} is" infer-inspect grammar "{\"${pair%:*}\":1}"
	done
	fails 5 'not a keyword of this draft; drafts from 6 on have it' \
		infer-inspect grammar '{"$schema":"http://json-schema.org/draft-04/schema#","const":1}'
	infer-inspect grammar '{"additionalItems":false,"items":{"type":"null"}}' >a
	fails 5 'additionalItems' infer-inspect grammar '{"additionalItems":false,"prefixItems":[true]}'
}

@test "grammar exits with 5 if the budget is used up" {
	fails 5 'needs more than 40 bytes' infer-inspect grammar --constraint-budget 10 '{"type":"string"}'
}
