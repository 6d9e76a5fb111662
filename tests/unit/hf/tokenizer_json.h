/* tests/unit/hf/tokenizer_json.h - tokenizer.json files as strings. */
#ifndef TESTS_TOKENIZER_JSON_H
#define TESTS_TOKENIZER_JSON_H
#define ADDED(id, content, flags) \
	"{\"id\":" #id ",\"content\":\"" content "\",\"single_word\":false,\"lstrip\":false," \
	"\"rstrip\":false,\"normalized\":false," flags "}"
#define BYTES \
	"{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":" \
	"false}"
#define SPLIT(re) \
	"{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" re \
	"\"},\"behavior\":\"Isolated\",\"invert\":false}"
#define CL(n) \
	"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}" n \
	"| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define FILE_OF(added, norm, pre, model) \
	"{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[" added \
	"],\"normalizer\":" norm ",\"pre_tokenizer\":" pre \
	",\"post_processor\":null,\"decoder\":null," \
	"\"model\":{" model "}}"
#define BPE "\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"fuse_unk\":false,"
#define VOCAB "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"\\u0120\":3},\"merges\":[\"a b\"]"
#define PRE "{\"type\":\"Sequence\",\"pretokenizers\":[" SPLIT(CL("{1,3}")) "," BYTES "]}"

/* A post-processor; "x" is two tokens. */
#define TEMPLATE(single) \
	"{\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"},{" \
	"\"type\":" \
	"\"TemplateProcessing\",\"single\":[" single \
	"],\"pair\":[],\"special_tokens\":{\"x\":{\"id\":\"x\"," \
	"\"ids\":[2,3],\"tokens\":[\"ab\",\"c\"]},\"y\":{\"id\":\"y\",\"ids\":[1],\"tokens\":[" \
	"\"b\"]}}}]}," \
	"\"pre_tokenizer\":" BYTES ",\"model\":{" BPE VOCAB "}}"
#define PIECE(id) "{\"SpecialToken\":{\"id\":\"" id "\",\"type_id\":0}}"
#define TEXT "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}"
#endif
