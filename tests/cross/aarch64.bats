# shellcheck shell=bash
# The programs on another processor: scripts/check-cross runs this file, with B a folder of emulated programs.
load ../e2e/lib

# the sets that processor $1 has
sets() { QEMU_CPU=$1 infer-inspect hw | sed -n 's/^kernels *//p' | sed 's/[a-z0-9]* (not[^)]*)//g' | xargs; }

@test "kernel sets are those whose instructions the processor has" {
	same "ref neon" "$(sets cortex-a57)"
	same "ref neon neondot" "$(sets neoverse-n1)"
	same "ref neon neondot neoni8mm" "$(sets max)"
	QEMU_CPU=cortex-a57 fails 2 "cannot run neondot" infer-run --isa neondot x
}

@test "the built-in model says what a float64 evaluation of it says, on every processor" {
	for cpu in cortex-a57 neoverse-n1 max; do
		QEMU_CPU=$cpu perl -MJSON::PP -e '
			local $/; my $g = decode_json(<STDIN>);
			for my $c (@{$g->{cases}}) {
				my @got = map { decode_json($_)->{id} } split /\n/, do { open my $p, "-|", "infer-run", "-q", "-m", "demo", "--no-stdin",
					"--raw", "--temp", 0, "--ignore-eos", "-n", scalar @{$c->{greedy_tokens}}, "-o", "tokens", $c->{prompt} or die; <$p> };
				die "$c->{prompt}: @got" unless "@got" eq "@{$c->{greedy_tokens}}";
				last if $ENV{QEMU_CPU} ne "max";
			}' <"$TOP/tests/golden/demo.json"
	done
}

@test "every set gives the bits of the machine that compiled it" {
	[ -x "$NATIVE/infer-run" ] || skip "no $NATIVE/infer-run"
	p="Question: What is inferutils? Answer:"
	want=$("$NATIVE/infer-run" -q -m demo --no-stdin --temp 0 -n 12 --stats "$p" 2>&1 >/dev/null | json digest)
	for k in $(sets max); do
		same "$want" "$(infer-run -q -m demo --no-stdin --temp 0 -n 12 --stats --isa "$k" "$p" 2>&1 >/dev/null | json digest)"
	done
}
