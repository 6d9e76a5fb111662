# families of models, each in the file that a public converter wrote for it
load lib

# Requests that have 66 ids in common, of a file $1 in tests/golden/logits; with the options $2 ...: what of their answers is promised.
answers()
{
	file=$1
	shift
	awk 'BEGIN { for (r = 0; r < 6; r++) {
		line = "{\"id\":\"" r "\",\"max_tokens\":40,\"logprobs\":1,\"prompt\":[5"
		for (i = 1; i < 66; i++) line = line "," i * i * 7 % 61
		for (i = 0; i < 4 + r; i++) line = line "," (i * 11 + r * 5) % 59
		print line "]}" } }' |
		infer-run -q -m "$TOP/tests/golden/logits/$file-hub.gguf" --batch - --ordered --temp 0 --ignore-eos --stats --fields id,text,logprobs "$@" 2>err
}

stat_of() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" err; }

@test "the same answers alone, after a prefix that is cached, and after a sequence gave its pages up" {
	for m in gpt-oss qwen2moe smollm3 olmo3 glm4moe mistral3 qwen3next qwen35 deepseek2 deepseek3 minimaxm2 gemma4 gemma4-small gemma4-moe lfm2 lfm2moe llama4 llama4-chunks mistral4 mistral4-grows gemma3n granitehybrid granitehybrid-dense; do
		answers $m --no-prefix-cache --prefill-chunk 7 -t 1 >alone
		same 6 "$(grep -c logprobs alone)"
		answers $m -t 2 | cmp - alone
		[ "$(stat_of cached_tokens)" -gt 0 ]
		answers $m -t 2 --kv-bytes $(($(stat_of kv_page_bytes) * 8)) | cmp - alone
		[ "$(stat_of preemptions)" -gt 0 ]
	done
}

# A column is a page of K and V and one of states, each in whole pages of 4 KiB: 32 positions of 16 halves
# each, and floats: 3 rows of 112 for the convolution, 4 heads of 8 rows of 20 (32 where vectors are full).
@test "states are the same by every kernel, and take what the arithmetic says" {
	answers qwen35 --no-prefix-cache --prefill-chunk 7 -t 1 >alone
	answers qwen35 -t 2 --isa ref | cmp - alone
	same $((4096 + 8192)) "$(stat_of kv_page_bytes)"
	# 2 layers of 3 rows of 96, then 6 heads of 12 rows of 8 (16); one of K and V, of 32 times 12 halves each
	answers granitehybrid --no-prefix-cache --prefill-chunk 7 -t 1 >alone
	answers granitehybrid -t 2 --isa ref | cmp - alone
	same $((4096 + 12288)) "$(stat_of kv_page_bytes)"
	answers qwen35moe --no-prefix-cache --prefill-chunk 1 -t 1 >alone
	answers qwen35moe -t 2 | cmp - alone
}
