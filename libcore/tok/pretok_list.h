/* tok/pretok_list.h - the pre-tokenizers by their names in tokenizer.ggml.pre: included once, by
 * pretok.c.
 *
 * A row: names, flags, stages.  The expressions are PCRE2's with UTF and UCP. */

#define RE_SHORT "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define RE_WHITE "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define RE_GPT2  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define RE_CL(numbers) RE_SHORT "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" RE_WHITE
#define RE_U "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define RE_W "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define RE_O2(u, w, numbers, short, tail) "[^\\r\\n\\p{L}\\p{N}]?" u "*" w "+" short "|[^\\r\\n\\p{L}\\p{N}]?" u "+" w "*" short "|" \
	numbers "| ?[^\\s\\p{L}\\p{N}]+" tail "|" RE_WHITE
#define RE_NO_HAN(set) "(?:(?!\\p{sc:Han})" set ")"
#define RE_DS3 "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|" \
	" ?[\\p{P}\\p{S}]+[\\r\\n]*|" RE_WHITE
#define RE_TEXT " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c})]+"

/* code points of the bracket lists [...] in expressions */
static const uint32_t ascii_digit_range[][2] = { { '0', '9' } };
static const uint32_t eol_range[][2] = { { '\n', '\n' }, { '\r', '\r' } };
static const uint32_t signs_range[][2] = { { '$', '$' }, { '+', '+' }, { '<', '>' }, { '^', '^' }, { '|', '|' }, { '~', '~' } };
static const uint32_t signs_tick_range[][2] = { { '$', '$' }, { '+', '+' }, { '<', '>' }, { '^', '^' }, { '`', '`' }, { '|', '|' },
	{ '~', '~' } };
static const uint32_t ascii_punct_range[][2] = { { '!', '/' }, { ':', '@' }, { '[', '`' }, { '{', '~' } };
static const uint32_t text_stop_range[][2] = { { '!', '!' }, { '(', ')' }, { ',', ',' }, { '.', '.' }, { '?', '?' }, { '|', '|' },
	{ 0x60c, 0x60c }, { 0x6d4, 0x6d4 }, { 0x964, 0x964 }, { 0x2026, 0x2026 }, { 0x3001, 0x3002 }, { 0xff0c, 0xff0c } };
static const uint32_t east_range[][2] = { { 0x800, 0x9fa5 }, { 0xac00, 0xd7ff } };
static const uint32_t ja_zh_range[][2] = { { 0x3040, 0x30ff }, { 0x4e00, 0x9fa5 } };
static const uint32_t ds_punct_range[][2] = { { '!', '/' }, { ':', '~' }, { 0x2018, 0x201f }, { 0x3000, 0x3002 }, { 0xff01, 0xff0f },
	{ 0xff1a, 0xff5e } };
static const uint32_t ds_cased_range[][2] = {
	{ 0x41, 0x5a }, { 0x61, 0x7a }, { 0xb5, 0xb5 }, { 0xc0, 0xd6 }, { 0xd8, 0xf6 }, { 0xf8, 0x1ba },
	{ 0x1bc, 0x1bf }, { 0x1c4, 0x293 }, { 0x295, 0x2af }, { 0x370, 0x373 }, { 0x376, 0x377 }, { 0x37b, 0x37d },
	{ 0x37f, 0x37f }, { 0x386, 0x386 }, { 0x388, 0x38a }, { 0x38c, 0x38c }, { 0x38e, 0x3a1 }, { 0x3a3, 0x3f5 },
	{ 0x3f7, 0x481 }, { 0x48a, 0x52f }, { 0x531, 0x556 }, { 0x10a0, 0x10c5 }, { 0x13a0, 0x13f5 },
	{ 0x13f8, 0x13fd }, { 0x1c90, 0x1cba }, { 0x1cbd, 0x1cbf }, { 0x1d00, 0x1d2b }, { 0x1d6b, 0x1d77 },
	{ 0x1d79, 0x1d9a }, { 0x1e00, 0x1f15 }, { 0x1f18, 0x1f1d }, { 0x1f20, 0x1f45 }, { 0x1f48, 0x1f4d },
	{ 0x1f50, 0x1f57 }, { 0x1f59, 0x1f59 }, { 0x1f5b, 0x1f5b }, { 0x1f5d, 0x1f5d }, { 0x1f5f, 0x1f7d },
	{ 0x1f80, 0x1fb4 }, { 0x1fb6, 0x1fbc }, { 0x1fbe, 0x1fbe }, { 0x1fc2, 0x1fc4 }, { 0x1fc6, 0x1fcc },
	{ 0x1fd0, 0x1fd3 }, { 0x1fd6, 0x1fdb }, { 0x1fe0, 0x1fec }, { 0x1ff2, 0x1ff4 }, { 0x1ff6, 0x1ffc },
	{ 0x2102, 0x2102 }, { 0x2107, 0x2107 }, { 0x210a, 0x2113 }, { 0x2115, 0x2115 }, { 0x2119, 0x211d },
	{ 0x2124, 0x2124 }, { 0x2126, 0x2126 }, { 0x2128, 0x2128 }, { 0x212a, 0x212d }, { 0x212f, 0x2134 },
	{ 0x2139, 0x2139 }, { 0x213c, 0x213f }, { 0x2145, 0x2149 }, { 0x214e, 0x214e }, { 0x2183, 0x2184 },
	{ 0x2c00, 0x2c7b }, { 0x2c7e, 0x2ce4 }, { 0x2ceb, 0x2cee }, { 0x2cf2, 0x2cf3 }, { 0xa640, 0xa66d },
	{ 0xa680, 0xa69b }, { 0xa722, 0xa76f }, { 0xa771, 0xa787 }, { 0xa78b, 0xa78e }, { 0xab70, 0xabbf },
	{ 0xfb00, 0xfb06 }, { 0xfb13, 0xfb17 }, { 0xff21, 0xff3a }, { 0xff41, 0xff5a }, { 0x10400, 0x1044f },
	{ 0x104b0, 0x104d3 }, { 0x104d8, 0x104fb }, { 0x10c80, 0x10cb2 }, { 0x10cc0, 0x10cf2 }, { 0x118a0, 0x118df },
	{ 0x1e900, 0x1e943 },
};
#define RE_DS_CASED \
	"A-Za-z\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}\\x{1bc}-\\x{1bf}\\x{1c4}-\\x{293}" \
	"\\x{295}-\\x{2af}\\x{370}-\\x{373}\\x{376}-\\x{377}\\x{37b}-\\x{37d}\\x{37f}\\x{386}" \
	"\\x{388}-\\x{38a}\\x{38c}\\x{38e}-\\x{3a1}\\x{3a3}-\\x{3f5}\\x{3f7}-\\x{481}\\x{48a}-\\x{52f}" \
	"\\x{531}-\\x{556}\\x{10a0}-\\x{10c5}\\x{13a0}-\\x{13f5}\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}" \
	"\\x{1cbd}-\\x{1cbf}\\x{1d00}-\\x{1d2b}\\x{1d6b}-\\x{1d77}\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}" \
	"\\x{1f18}-\\x{1f1d}\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}\\x{1f50}-\\x{1f57}\\x{1f59}\\x{1f5b}" \
	"\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}-\\x{1fb4}\\x{1fb6}-\\x{1fbc}\\x{1fbe}\\x{1fc2}-\\x{1fc4}" \
	"\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}\\x{1fd6}-\\x{1fdb}\\x{1fe0}-\\x{1fec}\\x{1ff2}-\\x{1ff4}" \
	"\\x{1ff6}-\\x{1ffc}\\x{2102}\\x{2107}\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}" \
	"\\x{2126}\\x{2128}\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}\\x{213c}-\\x{213f}" \
	"\\x{2145}-\\x{2149}\\x{214e}\\x{2183}-\\x{2184}\\x{2c00}-\\x{2c7b}\\x{2c7e}-\\x{2ce4}" \
	"\\x{2ceb}-\\x{2cee}\\x{2cf2}-\\x{2cf3}\\x{a640}-\\x{a66d}\\x{a680}-\\x{a69b}\\x{a722}-\\x{a76f}" \
	"\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}\\x{ab70}-\\x{abbf}\\x{fb00}-\\x{fb06}\\x{fb13}-\\x{fb17}" \
	"\\x{ff21}-\\x{ff3a}\\x{ff41}-\\x{ff5a}\\x{10400}-\\x{1044f}\\x{104b0}-\\x{104d3}" \
	"\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}\\x{118a0}-\\x{118df}" \
	"\\x{1e900}-\\x{1e943}"

#define RANGES(r) .n = sizeof r / sizeof *r, .range = r
static const struct pretok_class
	number = { .set = UNI_N }, decimal = { .set = UNI_BIT(UNI_ND) }, letter = { .set = UNI_L }, punct = { .set = UNI_P },
	no_space = { .set = UNI_SPACE, .negated = 1 }, ascii_digit = { RANGES(ascii_digit_range) }, eol = { RANGES(eol_range) },
	signs = { .set = UNI_P, RANGES(signs_range) }, signs_tick = { .set = UNI_P, RANGES(signs_tick_range) },
	east = { RANGES(east_range) }, ja_zh = { RANGES(ja_zh_range) }, ds_punct = { RANGES(ds_punct_range) },
	ds_cased = { RANGES(ds_cased_range) }, ascii_punct = { .set = UNI_P, RANGES(ascii_punct_range) },
	text = { .set = UNI_SPACE, .negated = 1, RANGES(text_stop_range) };

/* one stage */
#define GPT2          { RE_GPT2, pretok_gpt2 }
#define NUMBER        { "\\p{N}", pretok_runs, &number, 1 }
#define NUMBERS       { "\\p{N}+", pretok_runs, &number }
#define NUMBERS_3     { "\\p{N}{1,3}", pretok_runs, &number, 3 }
#define DIGITS_3      { "[0-9][0-9][0-9]", pretok_runs, &ascii_digit, 3, PRETOK_EXACT }
#define CL(n, max)    { RE_CL(n), pretok_cl, NULL, max, PRETOK_EOL }
#define O2(n, max)    { RE_O2(RE_U, RE_W, n, "(?:" RE_SHORT ")?", "[\\r\\n/]*"), pretok_o2, NULL, max, PRETOK_EOL | PRETOK_SLASH | PRETOK_SHORT }
#define DS3           { RE_DS3, pretok_ds3 }
#define TEXT          { RE_TEXT, pretok_runs, &text, 0, PRETOK_LEAD_BLANK }
#define LINES         { "[^\\n]+|[\\n]+", NULL }

static const struct pretok pretok_list[] = {
	{ "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano", PRETOK_WHOLE | PRETOK_ADD_BOS,
	  { CL("\\p{N}{1,3}", 3) } },
	{ "dbrx smaug-bpe glm4 chatglm-bpe", 0, { CL("\\p{N}{1,3}", 3) } },
	{ "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2", 0, { CL("\\p{N}", 1) } },
	{ "qwen35", 0, { { RE_SHORT "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" RE_WHITE,
	  pretok_cl, NULL, 1, PRETOK_EOL | PRETOK_MARKS } } },
	{ "minicpm5", PRETOK_WHOLE, { NUMBERS_3, CL("\\p{N}+", 0) } },
	{ "seed-coder", 0, { { RE_SHORT "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" RE_WHITE,
	  pretok_cl, NULL, 1 } } },
	{ "laguna", 0, { LINES, CL("\\p{N}", 1) } },
	{ "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum modern-bert exaone4 mpt olmo jais trillion "
	  "granite-docling", 0, { GPT2 } },
	{ "jina-v1-en jina-v2-code roberta-bpe", PRETOK_ADD_SEP, { GPT2 } },
	{ "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2", 0, { NUMBER, GPT2 } },
	{ "falcon", 0, { { "[\\p{P}\\$\\+<=>\\^~\\|`]+", pretok_runs, &signs_tick }, GPT2, DIGITS_3 } },
	{ "default", 0, { { "[\\p{P}\\$\\+<=>\\^~\\|]+", pretok_runs, &signs }, GPT2, NUMBERS, DIGITS_3 } },
	{ "deepseek-coder", 0, { { "[\\r\\n]", pretok_runs, &eol, 1 }, { "\\s?\\p{L}+", pretok_runs, &letter, 0, PRETOK_LEAD },
	  { "\\s?\\p{P}+", pretok_runs, &punct, 0, PRETOK_LEAD },
	  { "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+", pretok_runs, &east }, NUMBER } },
	{ "deepseek-llm", 0, { { "[\\r\\n]", pretok_runs, &eol, 1 },
	  { "\\s?[" RE_DS_CASED "]+", pretok_runs, &ds_cased, 0, PRETOK_LEAD },
	  { "\\s?[!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{3000}-\\x{3002}]+", pretok_runs, &ds_punct, 0,
	    PRETOK_LEAD },
	  { "\\s+$", pretok_tail }, { "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+", pretok_runs, &east }, NUMBERS } },
	{ "deepseek-v3 hunyuan-dense joyai-llm", 0, { NUMBERS_3,
	  { "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+", pretok_runs, &ja_zh }, DS3 } },
	{ "gpt-4o llama4 kanana2 talkie minimax-m2", 0, { O2("\\p{N}{1,3}", 3) } },
	{ "granite-embed-multi-97m", PRETOK_WHOLE, { O2("\\p{N}{1,3}", 3) } },
	{ "tiny_aya cohere2moe", 0, { { "\\d{1,3}(?=(?:\\d{3})*\\b)", pretok_threes, &decimal, 0, PRETOK_AT_END },
	  O2("\\p{N}{1,3}", 3) } },
	{ "tekken", PRETOK_WHOLE | PRETOK_ADD_BOS, { { RE_O2(RE_U, RE_W, "\\p{N}", "", "[\\r\\n/]*"), pretok_o2, NULL, 1,
	  PRETOK_EOL | PRETOK_SLASH } } },
	{ "youtu", PRETOK_WHOLE, { { "[\\x{ac00}-\\x{d7a3}\\x{3131}-\\x{318e}]+|"
	  "[\\x{ff01}\\x{2026}\\x{201c}\\x{201d}\\x{2018}\\x{2019}\\x{2014}\\x{ff1a}\\x{ff1b}\\x{ff0c}\\x{3001}-\\x{303f}\\x{fe30}-\\x{fe4f}]+|"
	  "[\\x{3105}-\\x{312f}]+|[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+" }, O2("\\p{N}", 1) } },
	{ "kimi-k2", 0, { { "[\\p{sc:Han}]+|" RE_O2(RE_NO_HAN(RE_U), RE_NO_HAN(RE_W), "\\p{N}{1,3}", "(?:" RE_SHORT ")?", "[\\r\\n]*"),
	  pretok_o2, NULL, 3, PRETOK_EOL | PRETOK_HAN | PRETOK_SHORT } } },
	{ "superbpe", 0, { NUMBERS, { "(?=(\\d{3})+(?!\\d))", pretok_cuts, &decimal } } },
	{ "bailingmoe bailingmoe2 llada-moe", 0, { { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
	  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+", pretok_cl, NULL, 1, PRETOK_EOL } } },
	{ "exaone-moe", 0, { { RE_SHORT "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}|"
	  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+", pretok_cl, NULL, 1,
	  PRETOK_EOL | PRETOK_SLASH | PRETOK_ONE | PRETOK_PHRASE } } },
	{ "jais-2", 0, { { RE_SHORT "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
	  "\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|"
	  "\\s{1,2}(?!\\S)|\\s{1}", pretok_cl, NULL, 3, PRETOK_EOL | PRETOK_BLANKS } } },
	{ "poro-chat bloom gpt3-finnish", 0, { TEXT } },
	{ "viking", 0, { TEXT, NUMBER } },
	{ "chameleon", PRETOK_ADD_BOS, { { "<sentinel:[0-9]+>" }, { "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z" }, { "([\\t\\n]|    |  )" },
	  NUMBER, { "[\\p{P}!-/:-@\\[-`{-~]", pretok_runs, &ascii_punct, 1 }, GPT2 } },
	{ "afmoe", 0, { { "\\p{N}{1,3}(?=(?:\\p{N}{3})*(?!\\p{N}))", pretok_threes, &number },
	  { "[\\x{4e00}-\\x{9fff}\\x{3400}-\\x{4dbf}\\x{f900}-\\x{faff}\\x{3040}-\\x{30ff}\\x{ff65}-\\x{ff9f}\\x{2f00}-\\x{2fdf}"
	    "\\x{e40}-\\x{e7f}\\x{e80}-\\x{eff}\\x{1780}-\\x{17ff}\\x{1000}-\\x{109f}\\x{aa60}-\\x{aa7f}\\x{a9e0}-\\x{a9ff}"
	    "\\x{ac00}-\\x{d7af}\\x{1100}-\\x{11ff}]+" }, DS3 } },
	{ "gemma4 granite-embed-multi-311m sarvam-moe", PRETOK_RAW, { LINES } },
	{ "whitespace", 0, { { "\\S+", pretok_runs, &no_space } } },
};
