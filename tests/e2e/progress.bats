# How far work is, on a terminal; what it came to; -v and -vv
load lib

# LONG takes minutes on any machine, and cases end it when they have seen what they wait for.  SLOWLY: the narrowest kernels, one thread
setup_more()
{
	export TERM=xterm SLOW=$BATS_FILE_TMPDIR/slow.gguf LONG=$BATS_FILE_TMPDIR/long.txt
	slow_model "$SLOW" --layers 4 --embd 256 --chat
	yes 'the of and' | head -n 16000 >"$LONG"
	export SLOWLY="infer-run -m $SLOW"
	[ -n "${TEST_FAST:-}" ] || SLOWLY="$SLOWLY --isa ref -t 1"
	TOTAL=$(infer-run -m "$SLOW" --tokenize --no-stdin -f "$LONG" | wc -w)
	export TOTAL
}
setup() { cd "$BATS_TEST_TMPDIR" || return; }
teardown() { if [ -S tm ]; then tmux -S tm kill-server 2>/dev/null || true; fi; }

# what goes to a terminal while COMMAND runs there: until REGEX is among it, and then it is ended with SIGNAL, if there is one.  Fails if
# COMMAND ends without REGEX, or after 2 minutes
terminal() # REGEX SIGNAL COMMAND
{
	command -v script >/dev/null || skip "needs the program script (package bsdutils)"
	: >shown
	echo "trap : INT; $3 & echo \$! >pid; wait \$!; echo ended with \$?" >it.sh
	script -qfec "bash $PWD/it.sh" shown </dev/null >/dev/null &
	local script=$! runs=1
	for _ in $(seq 1200); do
		# checked before the search, so that its last output is searched too
		kill -0 $script 2>/dev/null || runs=0
		if grep -qE -- "$1" shown; then
			[ -z "$2" ] || kill "-$2" "$(cat pid)"
			wait
			return
		fi
		[ $runs = 1 ] || break
		sleep .1
	done
	echo "never saw $1:"
	cat -v shown | tail -c 400
	[ $runs = 0 ] || [ ! -s pid ] || kill -KILL "$(cat pid)"
	return 1
}

@test "a prompt: how much of it is read, the rate, and the time left" {
	terminal 'prompt [0-9]+/'"$TOTAL"' \([0-9]+ %\) [0-9.]+ tok/s, [0-9]+:[0-9]{2}(:[0-9]{2})? left' TERM \
		"$SLOWLY --raw --no-stdin -f $LONG -n 1 >out"
	# more often than by steps of 512, and less often than five times a second
	n=$(tr '\r' '\n' <shown | grep -oE 'prompt [0-9]+/' | sort -u | wc -l)
	[ "$n" -ge 1 ]
	tr '\r' '\n' <shown | grep -oE 'prompt [0-9]+/' | grep -vqE 'prompt (0|512|1024|1536|2048)/'
}

@test "progress is wiped before an answer, a warning and an error, and is not for pipes, -q and terminals that know no escapes" {
	go="$SLOWLY --raw --no-stdin --temp 0 -f p"
	shows_prompt()
	{
		head -n "$1" "$LONG" >p
		terminal 'ended with 0' '' "$go -n 3 >out" && grep -q 'prompt ' shown
	}
	doubled 10 16000 shows_prompt
	grep -qa $'\r\e\\[Kended with 0' shown
	terminal 'ended with 0' '' "$go -n 3 -q >quiet"
	run ! grep -q 'prompt ' shown
	terminal 'ended with 0' '' "TERM=dumb $go -n 3 >dumb"
	run ! grep -q 'prompt ' shown
	infer-run -m "$SLOW" --raw --no-stdin --temp 0 -f p -n 3 >again 2>err
	[ ! -s err ]
	cmp out again
	cmp out quiet
	cmp out dumb
	# the context is full: one line of its own
	n=$(infer-run -m "$SLOW" --tokenize --no-stdin -f p | wc -w)
	fills_context()
	{
		terminal 'ended with 0' '' "$go --ignore-eos --json -c $((n + $1)) >out" &&
			grep -qaE $'\r\e\\[Kinfer-run: warning: the context of [0-9]+ tokens is full' shown
	}
	doubled 15 64000 fills_context
}

@test "progress with --sandbox, of --score, and of a record until it is there" {
	if infer-run --sandbox -n 1 --no-stdin the >/dev/null 2>&1; then
		terminal 'prompt [0-9]+/'"$TOTAL " TERM "$SLOWLY --sandbox --raw --no-stdin -f $LONG -n 1 >out"
	fi
	terminal 'scored [0-9]+/'"$TOTAL"' \([0-9]+ %\) ' TERM "$SLOWLY --score --no-stdin -f $LONG >out"
	terminal 'answer [0-9]+/90000 \([0-9]+ %\) [0-9.]+ tok/s' TERM "$SLOWLY --json --ignore-eos --raw --no-stdin -n 90000 the >out"
}

@test "a batch: done of all, failed, rate and time; of a pipe all is not known; one closing line, on a terminal or with -v" {
	asks() { for i in $(seq 20); do echo '{"id":"'"$i"'","prompt":"the of and","max_tokens":'$((i == 1 ? -5 : $1))'}'; done; }
	shows_batch()
	{
		asks "$1" >in
		terminal 'batch [0-9]+/20, 1 failed, [0-9.]+ tok/s(, [0-9]+:[0-9]{2} left)?' '' "$SLOWLY --ignore-eos --batch in >out"
	}
	doubled 4 4096 shows_batch
	grep -qaE $'^(.*\r\e\\[K)?infer-run: 20 requests done, 1 failed; [0-9]+ tokens at [0-9]+/s in ([0-9.]+ s|[0-9]+:[0-9]{2})' shown
	same 20 "$(wc -l <out)"
	shows_pipe()
	{
		asks "$1" >in
		terminal 'batch [0-9]+, 1 failed, [0-9.]+ tok/s' '' "cat in | $SLOWLY --ignore-eos --batch - >out"
	}
	doubled 4 4096 shows_pipe
	asks 12 >in
	infer-run -q --ignore-eos --batch in 2>err >out || [ $? = 7 ]
	same 1 "$(wc -l <err)"
	infer-run -v --ignore-eos --batch in 2>err >out || [ $? = 7 ]
	grep -qE '^infer-run: 20 requests done, 1 failed; ' err
	# those that were there are no work
	head -n 12 in >part
	infer-run -q --ignore-eos --batch part --resume r || [ $? = 7 ]
	infer-run -v --ignore-eos --batch in --resume r 2>err || [ $? = 7 ]
	grep -qE '^infer-run: 8 requests done, 0 failed; ' err
	infer-run --ignore-eos --batch in 2>err >out || [ $? = 7 ]
	same 1 "$(wc -l <err)"
}

@test "stopped and in the background it is silent, and comes back with fg" {
	command -v tmux >/dev/null || skip "needs tmux (package tmux)"
	tm() { tmux -S tm "$@"; }
	sees()
	{
		for _ in $(seq 600); do
			tm capture-pane -p >now
			if grep -qE -- "$1" now; then return; fi
			sleep .1
		done
		echo "never saw $1:"
		cat now
		return 1
	}
	tm -f /dev/null new-session -d -x 60 -y 12 "env PS1='> ' bash --norc --noprofile -i"
	sees '^> *$'
	tm send-keys -l "clear; $SLOWLY --raw --no-stdin -f \$LONG -n 1 >out"
	tm send-keys Enter
	sees '^prompt [0-9]+/.* left$'
	tm send-keys C-z
	sees 'Stopped'
	sees '^> *$'
	tm send-keys -l 'clear; bg'
	tm send-keys Enter
	sees '^> *$'
	sleep 1
	tm capture-pane -p >now
	run ! grep -q prompt now
	tm send-keys -l 'clear; fg'
	tm send-keys Enter
	sees '^prompt [0-9]+/.* left$'
	tm send-keys C-c
	sees '^> *$'
}

@test "-v begins with what computes and ends with how fast; -vv has the prompt and the steps" {
	infer-run -v --no-stdin --ignore-eos -m demo -c 256 -t 1 --isa ref -n 9 --seed 7 hello 2>err >out
	same 4 "$(wc -l <err)"
	grep -qxE 'infer-run: demo: llama, [0-9.]+ million parameters, [0-9.]+ MiB; threads: 1; kernels: ref; template: the model.s' err
	grep -qxE 'infer-run: a cache of [0-9.]+ MiB for 1 sequence of up to 256 tokens, and [0-9.]+ MiB of workspace' err
	grep -qx 'infer-run: seed 7' err
	tail -n 1 err | grep -qxE 'infer-run: [0-9]+ tokens read at [0-9]+/s, 9 written at [0-9]+/s, first after [0-9.]+ s, [0-9]+ of 256 context'
	n=$(infer-run -q --json -n 0 --no-stdin -m demo hello | json usage.prompt_tokens)
	grep -q "^infer-run: $n tokens read .*, $((n + 9)) of 256 context" err
	infer-run -v --no-stdin --raw --repeat 2 -n 1 hello 2>err >out
	grep -q 'template: none is used$' err
	same 2 "$(grep -c ' tokens read' err)"
	infer-run -v --no-stdin --raw -n 0 hello 2>err >out
	tail -n 1 err | grep -qE ', 0 written, [0-9]+ of 512 context$'
	# -vv
	infer-run -vv --no-stdin --ignore-eos -m demo -n 3 --prefill-chunk 4 "$(printf 'a\033b')" 2>err >out
	grep -qx 'infer-run: | <|im_start|>user' err
	grep -qFx 'infer-run: | a\x1bb<|im_end|>' err
	n=$(sed -n 's/^infer-run: the prompt, \([0-9]*\) tokens:$/\1/p' err)
	grep -qxE 'infer-run: step 1: 4 rows of prompts, 0 decoding, [0-9.]+ ms' err
	same "$n" "$(sed -n 's/^infer-run: step [0-9]*: \([0-9]*\) rows of prompts.*/\1/p' err | awk '{ s += $1 } END { print s }')"
	same 2 "$(grep -cE 'step [0-9]+: 0 rows of prompts, 1 decoding' err)"
	# with one -v none of that, and with none nothing
	infer-run -v --no-stdin -m demo -n 3 a 2>err >out
	run ! grep -qE 'step|[|]' err
}

@test "infer-bench: turns done of all, and the time left" {
	terminal '(prefill|decode) [0-9]+, 0 behind, 1 at once: [0-9]+/[0-9]+, [0-9]+:[0-9]{2}(:[0-9]{2})? left' TERM \
		"infer-bench run -m $SLOW -t 1 --isa ref -p 64 -n 16 --repeat 1000 >out"
}
