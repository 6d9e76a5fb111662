/* tests/unit/hf/test_ct.c - damaged and contradictory checkpoints of compressed-tensors, FP8, ModelOpt and MXFP4 are refused
 * by the key or the tensor; test_quantised.c has their values. */
#include "../nth.h"

#include "base/err.h"
#include "damage.h"

#define GOLDEN "tests/golden/quantised/"
#define CONFIG "config.json"
#define MODELOPT "hf_quant_config.json"
#define WEIGHTS "model.safetensors"
#define LAYER "model.layers.0."

struct row {
	const char *golden, *file;
	const char *a, *b; /* b for the first a; a NULL: nothing */
	int code;
	const char *says;
};

static void read_file(struct small *s, const char *golden, const char *name)
{
	static char text[1 << 17];
	char path[256];
	size_t n;

	snprintf(path, sizeof path, GOLDEN "%s/%s", golden, name);
	FILE *f = fopen(path, "rb");
	if (!f)
		return;
	n = fread(text, 1, sizeof text, f);
	assert_true(n < sizeof text);
	fclose(f);
	small_set(s, name, text, n);
}

static void read_golden(struct small *s, const char *golden)
{
	memset(s, 0, sizeof *s);
	read_file(s, golden, CONFIG);
	read_file(s, golden, WEIGHTS);
	read_file(s, golden, MODELOPT);
}

static void check_rows(const struct row *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct small s;

		read_golden(&s, r[i].golden);
		swap(&s, r[i].file, r[i].a, r[i].b);
		assert_int_equal(small_write(&s, dir), 0);
		small_free(&s);
		check_refused(r[i].b, "", r[i].code, r[i].says);
	}
}
#define CHECK_ROWS(r) check_rows(r, sizeof(r) / sizeof *(r))

/* Overwrite bytes of a tensor. */
static void poke(struct small *s, const char *tensor, size_t at, const void *bytes, size_t n)
{
	struct small_file *f = small_file(s, WEIGHTS);
	char key[128];
	size_t header, from;

	snprintf(key, sizeof key, "\"%s\":{", tensor);
	memcpy(&header, f->at, 8);
	const char *entry = memmem(f->at + 8, header, key, strlen(key));
	assert_non_null(entry);
	entry = strstr(entry, "\"data_offsets\":[");
	assert_non_null(entry);
	from = (size_t)strtoul(entry + 16, NULL, 10);
	memcpy(f->at + 8 + header + from + at, bytes, n);
}

static void check_poke(const char *golden, const char *tensor, size_t at, const void *bytes,
                       size_t n, int code, const char *says)
{
	struct small s;

	read_golden(&s, golden);
	poke(&s, tensor, at, bytes, n);
	assert_int_equal(small_write(&s, dir), 0);
	small_free(&s);
	check_refused(tensor, tensor, code, says);
}

#define METHOD "\"quant_method\": \"compressed-tensors\","
#define INT4(a, b, code, says) \
	{ \
		"ct-int4", CONFIG, a, b, code, says \
	}
#define MIXED(a, b, code, says) \
	{ \
		"ct-mixed", CONFIG, a, b, code, says \
	}

static const struct row config_rows[] = {
	INT4(METHOD, METHOD "\"new_member\": 1,", INFER_EUNSUP, "new_member"),
	INT4("\"format\": \"pack-quantized\"", "\"format\": \"marlin-24\"", INFER_EUNSUP,
	     "\"format\" is marlin-24"),
	INT4("\"format\": \"pack-quantized\"", "\"format\": \"sparse-bitmask\"", INFER_EUNSUP,
	     "\"format\" is sparse-bitmask"),
	INT4("\"format\": \"pack-quantized\"", "\"format\": \"dense\"", INFER_EUNSUP,
	     "\"format\" is dense"),
	INT4("\"format\": \"pack-quantized\"", "\"format\": 4", INFER_EFORMAT, "\"format\""),
	INT4("\"format\": \"pack-quantized\"", "\"format\": null", INFER_EUNSUP,
	     "config_groups.group_0: \"format\" must be there"),
	INT4("\"format\": \"pack-quantized\"", "\"format\": \"mixed-precision\"", INFER_EUNSUP,
	     "config_groups.group_0: \"format\" must be there"),
	INT4("\"format\": \"pack-quantized\"", "\"format\": \"int-quantized\"", INFER_EFORMAT,
	     "weight_packed is not part of its \"format\""),
	INT4("\"format\": \"pack-quantized\"", "\"format\": \"float-quantized\"", INFER_EFORMAT,
	     "group_0.weights: \"type\" must be \"float\""),
	INT4("\"quantization_status\": \"compressed\"", "\"quantization_status\": \"initialized\"",
	     INFER_EUNSUP, "\"quantization_status\" is initialized"),
	INT4("\"sparsity_config\": {}", "\"sparsity_config\": {\"format\": \"sparse-24-bitmask\"}",
	     INFER_EUNSUP, "\"sparsity_config\""),
	INT4("\"transform_config\": {}", "\"transform_config\": {\"config_groups\": {}}",
	     INFER_EUNSUP, "\"transform_config\""),
	INT4(METHOD, METHOD "\"moe_sparsity_config\": {\"method\": \"prune\"},", INFER_EUNSUP,
	     "\"moe_sparsity_config\""),
	INT4("\"kv_cache_scheme\": null", "\"kv_cache_scheme\": \"fp8\"", INFER_EFORMAT,
	     "\"kv_cache_scheme\""),
	INT4("\"kv_cache_scheme\": null", "\"kv_cache_scheme\": {\"bits\": 8}", INFER_EUNSUP,
	     "bits is not a known member"),
	INT4("\"config_groups\": {", "\"config_groups\": [], \"x\": {", 0, "x"),
	INT4("\"config_groups\": {", "\"config_groups\": {\"W4A16\": [\"Linear\"],", INFER_EFORMAT,
	     "config_groups.W4A16 must be an object"),
	INT4("\"targets\": [\n     \"model.layers.0.self_attn.q_proj\"\n    ],", "", INFER_EFORMAT,
	     "group_0: \"targets\" must not be empty"),
	INT4("\"model.layers.0.self_attn.q_proj\"", "", INFER_EFORMAT,
	     "group_0: \"targets\" must not be empty"),
	INT4("\"model.layers.0.self_attn.q_proj\"", "7", INFER_EFORMAT,
	     "\"targets\" must be an array of strings"),
	INT4("\"model.layers.0.self_attn.q_proj\"", "\"re:(q\"", INFER_EUNSUP,
	     "\"targets\": pattern (q"),
	INT4("\"model.layers.0.self_attn.q_proj\"", "\"re:(.*)*(.*)*(.*)*[#&]$\"", INFER_EUNSUP,
	     "takes too long"),
	INT4("\"model.layers.0.self_attn.q_proj\"", "\"re:.*k_proj$\"", INFER_EFORMAT,
	     "\"targets\" of two config_groups have .*k_proj$"),
	INT4("\"model.layers.0.self_attn.q_proj\"", "\"Linear\"", INFER_EFORMAT,
	     "\"targets\" of two config_groups have Linear"),
	INT4("\"model.layers.0.self_attn.q_proj\"", "\"Nothing\"", INFER_EFORMAT,
	     "q_proj.weight_scale: weight_zero_point of this module is missing"),
	INT4("\"Linear\"", "\"Embedding\"", INFER_EFORMAT,
	     "down_proj.weight_scale: its module is in no \"targets\""),
	INT4("\"lm_head\"", "\"model.layers.0.mlp.up_proj\"", INFER_EFORMAT,
	     "up_proj.weight_scale: its module is in \"ignore\""),
	INT4("\"lm_head\"", "\"re:.*up_proj\"", INFER_EFORMAT, "its module is in \"ignore\""),
	INT4("\"lm_head\"", "\"re:[\"", INFER_EUNSUP, "\"ignore\": pattern ["),
	INT4("\"ignore\": [", "\"ignore\": [1,", INFER_EFORMAT,
	     "\"ignore\" must be an array of strings"),
	INT4("\"output_activations\": null", "\"output_activations\": {\"num_bits\": 8}",
	     INFER_EUNSUP, "group_0: \"output_activations\" must be null"),
	INT4("\"input_activations\": null", "\"input_activations\": 8", INFER_EFORMAT,
	     "group_0.input_activations must be an object"),
	INT4("\"input_activations\": null", "\"input_activations\": {\"num_bits\": 99}",
	     INFER_EUNSUP, "(in config_groups.group_0.input_activations)"),
	INT4("\"weights\": {\n     \"num_bits\": 4,", "\"weights\": [4], \"format\": {",
	     INFER_EFORMAT, "\"format\" must be a string"),
	INT4("\"weights\": {", "\"weights\": null, \"scheme\": {", INFER_EUNSUP,
	     "scheme is not a known member"),
};

static void test_config(void **state)
{
	(void)state;
	CHECK_ROWS(config_rows);
}

static const struct row weight_rows[] = {
	INT4("\"num_bits\": 4", "\"num_bits\": 3", INFER_EUNSUP, "\"num_bits\" is 3"),
	INT4("\"num_bits\": 4", "\"num_bits\": 5", INFER_EUNSUP, "\"num_bits\" is 5"),
	INT4("\"num_bits\": 4", "\"num_bits\": 16", INFER_EUNSUP, "\"num_bits\" is 16"),
	INT4("\"num_bits\": 4", "\"num_bits\": \"4\"", INFER_EFORMAT, "\"num_bits\""),
	INT4("\"num_bits\": 4", "\"num_bits\": 8", INFER_EFORMAT, "q_proj.weight_shape"),
	INT4("\"type\": \"int\"", "\"type\": \"fp\"", INFER_EUNSUP, "\"type\" is fp"),
	INT4("\"type\": \"int\"", "\"type\": \"float\"", INFER_EFORMAT, "\"type\" must be \"int\""),
	INT4("\"symmetric\": true", "\"symmetric\": false", INFER_EFORMAT,
	     "weight_zero_point of this module is missing"),
	INT4("\"symmetric\": false", "\"symmetric\": true", INFER_EFORMAT,
	     "although \"symmetric\""),
	INT4("\"symmetric\": true", "\"symmetric\": 1", INFER_EFORMAT, "\"symmetric\""),
	INT4("\"group_size\": 32", "\"group_size\": 0", INFER_EFORMAT, "weights: \"group_size\""),
	INT4("\"group_size\": 32", "\"group_size\": -1", INFER_EFORMAT, "weights: \"group_size\""),
	INT4("\"group_size\": 32", "\"group_size\": -2", INFER_EUNSUP, "\"group_size\" is -2"),
	INT4("\"group_size\": 32", "\"group_size\": 16", INFER_EFORMAT,
	     "q_proj.weight_scale: 128 elements"),
	INT4("\"group_size\": 32", "\"group_size\": 24", INFER_EFORMAT,
	     "not a multiple of \"group_size\" 24"),
	INT4("\"group_size\": 32", "\"group_size\": null", INFER_EFORMAT, "\"group_size\""),
	INT4("\"strategy\": \"group\"", "\"strategy\": \"token\"", INFER_EUNSUP,
	     "\"strategy\" is token"),
	INT4("\"strategy\": \"group\"", "\"strategy\": \"channel\"", INFER_EFORMAT,
	     "\"group_size\" must be absent"),
	INT4("\"strategy\": \"channel\"", "\"strategy\": \"tensor\"", INFER_EFORMAT,
	     "k_proj.weight_scale"),
	INT4("\"strategy\": \"channel\"", "\"strategy\": \"block\", \"block_structure\": [64, 64]",
	     INFER_EUNSUP, "group_1.weights: \"strategy\" is not supported"),
	INT4("\"strategy\": \"channel\"", "\"strategy\": \"block\"", INFER_EFORMAT,
	     "\"block_structure\""),
	INT4("\"strategy\": \"group\"", "\"strategy\": \"group\", \"block_structure\": [1, 2]",
	     INFER_EFORMAT, "\"block_structure\" must be absent"),
	INT4("\"strategy\": \"group\"", "\"strategy\": \"tensor_group\"", INFER_EUNSUP,
	     "\"strategy\" is not supported"),
	INT4("\"dynamic\": false", "\"dynamic\": true", INFER_EUNSUP, "\"dynamic\""),
	INT4("\"dynamic\": false", "\"dynamic\": false, \"actorder\": \"row\"", INFER_EUNSUP,
	     "\"actorder\""),
	INT4("\"dynamic\": false", "\"dynamic\": false, \"actorder\": \"group\"", INFER_EFORMAT,
	     "weight_g_idx of this module is missing"),
	INT4("\"strategy\": \"channel\"", "\"strategy\": \"channel\", \"actorder\": \"group\"",
	     INFER_EFORMAT, "\"actorder\" is \"group\""),
	INT4("\"dynamic\": false", "\"dynamic\": false, \"zp_dtype\": 8", INFER_EFORMAT,
	     "\"zp_dtype\""),
	INT4("\"dynamic\": false", "\"dynamic\": false, \"bits\": 8", INFER_EUNSUP,
	     "bits is not a known member (in config_groups.group_0.weights)"),
	MIXED("\"block_structure\": [\n      96", "\"block_structure\": [\n      0", INFER_EFORMAT,
	      "\"block_structure\""),
	MIXED("\"block_structure\": [\n      96", "\"block_structure\": [\n      64, 96",
	      INFER_EFORMAT, "\"block_structure\""),
	MIXED("\"block_structure\": [\n      96", "\"block_structure\": [\n      32", INFER_EFORMAT,
	      "gate_proj.weight_scale"),
	MIXED("\"symmetric\": true", "\"symmetric\": false", INFER_EUNSUP, "\"symmetric\""),
	MIXED("\"num_bits\": 8", "\"num_bits\": 4", INFER_EUNSUP, "\"num_bits\" is 4"),
	MIXED("\"group_size\": 16", "\"group_size\": 32", INFER_EUNSUP,
	      "\"group_size\" is 32: must be 16"),
	MIXED("\"format\": \"float-quantized\"", "\"format\": \"mixed-precision\"", INFER_EUNSUP,
	      "\"format\" is mixed-precision"),
	MIXED("\"format\": \"mxfp4-pack-quantized\"", "\"format\": \"mxfp6-pack-quantized\"",
	      INFER_EUNSUP, "\"format\" is mxfp6-pack-quantized"),
	MIXED("\"format\": \"mxfp8-quantized\"", "\"format\": \"float-quantized\"", INFER_EFORMAT,
	      "up_proj.weight_scale: dtype U8"),
	MIXED("\"format\": \"naive-quantized\"", "\"format\": \"mxfp8-quantized\"", INFER_EUNSUP,
	      "\"group_size\" is 64: must be 32"),
	{ "ct-order", CONFIG, "\"pack-quantized\"", "\"naive-quantized\"", INFER_EUNSUP,
	  "\"actorder\" is \"group\": supported for" },
	{ "ct-int8", CONFIG, "\"strategy\": \"channel\"", "\"strategy\": \"tensor\"", INFER_EFORMAT,
	  "q_proj.weight_scale" },
};

static void test_weights_config(void **state)
{
	(void)state;
	CHECK_ROWS(weight_rows);
}

#define HEAD(golden, a, b, code, says) \
	{ \
		golden, WEIGHTS, a, b, code, says \
	}

static const struct row tensor_rows[] = {
	HEAD("ct-int4", LAYER "self_attn.q_proj.weight_scale",
	     LAYER "self_attn.q_proj.weight_skale", INFER_EFORMAT,
	     "its module has no tensor weight_scale"),
	HEAD("ct-int4", LAYER "self_attn.v_proj.weight_zero_point",
	     LAYER "self_attn.v_proj.weight_zero", INFER_EFORMAT,
	     "weight_zero_point of this module is missing"),
	HEAD("ct-int4", LAYER "self_attn.q_proj.weight_packed", LAYER "self_attn.q_proj.weight",
	     INFER_EFORMAT, "weight_packed of this module is missing"),
	HEAD("ct-int4", "q_proj.weight_packed\":{\"dtype\":\"I32\",\"shape\":[64,8]",
	     "q_proj.weight_packed\":{\"dtype\":\"I32\",\"shape\":[32,16]", INFER_EFORMAT,
	     "q_proj.weight_shape: size 0 is 64, that of weight_packed is 32"),
	HEAD("ct-int4", "q_proj.weight_packed\":{\"dtype\":\"I32\"",
	     "q_proj.weight_packed\":{\"dtype\":\"U32\"", INFER_EFORMAT, "must be I32"),
	HEAD("ct-int4", "q_proj.weight_packed\":{\"dtype\":\"I32\",\"shape\":[64,8]",
	     "q_proj.weight_packed\":{\"dtype\":\"I32\",\"shape\":[512]", INFER_EFORMAT,
	     "must have two dimensions"),
	HEAD("ct-int4", "v_proj.weight_zero_point\":{\"dtype\":\"I32\",\"shape\":[4,1]",
	     "v_proj.weight_zero_point\":{\"dtype\":\"I32\",\"shape\":[2,2]", INFER_EFORMAT,
	     "v_proj.weight_zero_point: 4 elements"),
	HEAD("ct-int4", "q_proj.weight_scale\":{\"dtype\":\"F16\",\"shape\":[64,2]",
	     "q_proj.weight_scale\":{\"dtype\":\"F16\",\"shape\":[2,64]", INFER_EFORMAT,
	     "must be [64, 2]"),
	HEAD("ct-int4", "q_proj.weight_scale\":{\"dtype\":\"F16\"",
	     "q_proj.weight_scale\":{\"dtype\":\"I16\"", INFER_EUNSUP, "dtype I16"),
	HEAD("ct-mixed", LAYER "self_attn.k_proj.weight_scale", LAYER "self_attn.k_proj.scale",
	     INFER_EFORMAT, "k_proj.weight: dtype F8_E4M3 without scales"),
	HEAD("ct-mixed", LAYER "self_attn.v_proj.weight_global_scale",
	     LAYER "self_attn.v_proj.global_scale", INFER_EFORMAT,
	     "weight_global_scale of this module is missing"),
	HEAD("ct-order", "weight_g_idx\":{\"dtype\":\"I32\",\"shape\":[128]",
	     "weight_g_idx\":{\"dtype\":\"I32\",\"shape\":[64,2]", INFER_EFORMAT, "weight_g_idx"),
	HEAD("fp8-block", LAYER "self_attn.q_proj.weight_scale_inv", LAYER "self_attn.q_proj.scale",
	     INFER_EFORMAT, "q_proj.weight: dtype F8_E4M3 without scales"),
	HEAD("fp8-block", "q_proj.weight\":{\"dtype\":\"F8_E4M3\"",
	     "q_proj.weight\":{\"dtype\":\"F8_E5M2\"", INFER_EFORMAT, "must be F8_E4M3"),
	HEAD("modelopt", LAYER "self_attn.k_proj.weight_scale_2", LAYER "self_attn.k_proj.scale_2",
	     INFER_EFORMAT, "there is no weight_scale_2"),
	HEAD("modelopt", LAYER "self_attn.q_proj.input_scale",
	     LAYER "self_attn.q_proj.pre_quant_scale", INFER_EUNSUP, "pre_quant_scale"),
	HEAD("modelopt", "k_proj.weight\":{\"dtype\":\"U8\"", "k_proj.weight\":{\"dtype\":\"I8\"",
	     INFER_EFORMAT, "must be F8_E4M3 or U8"),
	HEAD("gpt-oss", "experts.down_proj_scales", "experts.down_proj_skales", INFER_EFORMAT,
	     "down_proj_blocks: there is no tensor of its scales"),
	HEAD("gpt-oss", "experts.down_proj_blocks", "experts.down_proj_block", INFER_EFORMAT,
	     "down_proj_scales"),
	HEAD("gpt-oss", "[2,32,1,16]", "[2,32,2,8]", INFER_EFORMAT,
	     "must be U8 of shape [experts, rows, blocks, 16]"),
	HEAD("gpt-oss", "down_proj_scales\":{\"dtype\":\"U8\",\"shape\":[2,32,1]",
	     "down_proj_scales\":{\"dtype\":\"U8\",\"shape\":[2,1,32]", INFER_EFORMAT,
	     "must be U8 of the shape of the blocks"),
};

static void test_tensors(void **state)
{
	(void)state;
	CHECK_ROWS(tensor_rows);
}

#define ADD(golden, method, member, code, says) \
	{ \
		golden, CONFIG, "\"quant_method\": \"" method "\",", \
			"\"quant_method\": \"" method "\"," member ",", code, says \
	}
#define OPT(a, b, code, says) \
	{ \
		"modelopt", MODELOPT, a, b, code, says \
	}

static const struct row method_rows[] = {
	ADD("fp8-block", "fp8", "\"bits\": 8", INFER_EUNSUP, "bits is not a known member"),
	ADD("fp8-block", "fp8", "\"scale_fmt\": \"e4m3\"", INFER_EUNSUP, "\"scale_fmt\""),
	ADD("fp8-block", "fp8", "\"expert_dtype\": \"fp4\"", INFER_EUNSUP, "\"expert_dtype\""),
	{ "fp8-block", CONFIG, "\"activation_scheme\": \"dynamic\"",
	  "\"activation_scheme\": \"none\"", INFER_EUNSUP, "\"activation_scheme\"" },
	{ "fp8-block", CONFIG, "\"fmt\": \"e4m3\"", "\"fmt\": \"e5m2\"", INFER_EUNSUP,
	  "\"fmt\" is e5m2" },
	{ "fp8-block", CONFIG, "\"weight_block_size\": [\n   64",
	  "\"weight_block_size\": [\n   -64", INFER_EFORMAT, "\"weight_block_size\"" },
	{ "fp8-block", CONFIG, "\"weight_block_size\": [\n   64",
	  "\"weight_block_size\": [\n   64, 64", INFER_EFORMAT, "\"weight_block_size\"" },
	{ "fp8-block", CONFIG, "\"weight_block_size\": [\n   64,\n   64",
	  "\"weight_block_size\": [\n   64,\n   32", INFER_EFORMAT, "weight_scale_inv" },
	{ "fp8-block", CONFIG, "\"lm_head\"", "\"model.layers.0.mlp.up_proj\"", INFER_EFORMAT,
	  "its module is in \"modules_to_not_convert\"" },
	{ "fp8-block", CONFIG, "\"lm_head\"", "{}", INFER_EFORMAT, "\"modules_to_not_convert\"" },
	{ "fp8-tensor", CONFIG, "\"weight_block_size\": null", "\"weight_block_size\": [32, 64]",
	  INFER_EFORMAT, "weight_scale" },
	ADD("fbgemm-fp8", "fbgemm_fp8", "\"weight_block_size\": [1, 1]", INFER_EUNSUP,
	    "weight_block_size is not a known member"),
	{ "fbgemm-fp8", CONFIG, "\"fbgemm_fp8\"", "\"fbgemm_fp4\"", INFER_EUNSUP, "fbgemm_fp4" },
	{ "gpt-oss", CONFIG, "\"lm_head\"", "\"model.layers.0.mlp.experts.down_proj\"",
	  INFER_EFORMAT, "its module is in \"modules_to_not_convert\"" },
	ADD("gpt-oss", "mxfp4", "\"block_size\": 16", INFER_EUNSUP,
	    "block_size is not a known member"),
	OPT("\"MIXED_PRECISION\"", "\"FP8\"", INFER_EFORMAT, "v_proj.weight_scale: 32 elements"),
	OPT("\"MIXED_PRECISION\"", "\"FP8_PB_WO\"", INFER_EFORMAT, "v_proj.weight_scale"),
	OPT("\"MIXED_PRECISION\"", "\"NVFP4\"", INFER_EFORMAT, "\"quant_algo\" NVFP4"),
	OPT("\"MIXED_PRECISION\"", "\"NVFP4_AWQ\"", INFER_EUNSUP, "\"quant_algo\" is NVFP4_AWQ"),
	OPT("\"MIXED_PRECISION\"", "\"W4A8_AWQ\"", INFER_EUNSUP, "\"quant_algo\" is W4A8_AWQ"),
	OPT("\"MIXED_PRECISION\"", "null", INFER_EFORMAT, "\"quant_algo\" must be one of"),
	OPT("\"quantized_layers\": {", "\"quantized_layers\": null, \"producer\": {", INFER_EFORMAT,
	    "\"quantized_layers\" must be there"),
	OPT("\"quantized_layers\": {", "\"quantized_layers\": {\"a\": 1,", INFER_EFORMAT,
	    "\"quantized_layers\" must be objects"),
	OPT("\"group_size\": 16", "\"group_size\": 32", INFER_EUNSUP, "\"group_size\" is 32"),
	OPT("\"quant_algo\": \"FP8_PB_WO\"", "\"quant_algo\": \"MXFP8\"", INFER_EUNSUP,
	    "\"quant_algo\" is MXFP8"),
	OPT("\"exclude_modules\": [", "\"exclude_modules\": [0, ", INFER_EFORMAT,
	    "\"exclude_modules\""),
	OPT("\"lm_head\"", "\"model.layers.0.self_attn.k_proj\"", INFER_EFORMAT,
	    "its module is in \"exclude_modules\""),
	OPT("\"exclude_modules\"", "\"has_zero_point\": true, \"exclude_modules\"", INFER_EUNSUP,
	    "\"has_zero_point\""),
	OPT("\"exclude_modules\"", "\"pre_quant_scale\": true, \"exclude_modules\"", INFER_EUNSUP,
	    "\"pre_quant_scale\""),
	OPT("\"exclude_modules\"", "\"awq_block_size\": 128, \"exclude_modules\"", INFER_EUNSUP,
	    "awq_block_size is not a known member"),
	OPT("\"producer\"", "\"maker\"", INFER_EUNSUP, "maker is not a known member"),
	OPT("\"exclude_modules\"",
	    "\"config_groups\": {\"g\": {\"weights\": {\"type\": \"int\"}}}, "
	    "\"exclude_modules\"",
	    INFER_EUNSUP, "\"type\" is int"),
};

static void test_other_methods(void **state)
{
	(void)state;
	CHECK_ROWS(method_rows);
	assert_true(refused >= 120);
}

static void test_values(void **state)
{
	static const unsigned char infinite[] = { 0, 0x7c }, nan8[] = { 0x7f }, minus[] = { 0x90 },
				   zero[4] = { 0 }, two[] = { 2, 0, 0, 0 },
				   less[] = { 0xff, 0xff, 0xff, 0xff };
	const float tiny = 0x1p-130f, big = 1e30f * 1e30f;

	(void)state;
	check_poke("ct-int4", LAYER "self_attn.q_proj.weight_scale", 2, infinite, 2, INFER_EFORMAT,
	           "scale 1 is not a finite number");
	check_poke("ct-int4", LAYER "self_attn.q_proj.weight_shape", 8, two, 4, INFER_EFORMAT,
	           "size 1 is 2, that of weight_packed is 64");
	check_poke("ct-order", LAYER "mlp.down_proj.weight_g_idx", 0, two, 4, INFER_EFORMAT,
	           "column 0 is in group 2 of 2");
	check_poke("ct-order", LAYER "mlp.down_proj.weight_g_idx", 0, less, 4, INFER_EFORMAT,
	           "column 0 is in group -1 of 2");
	check_poke("ct-mixed", LAYER "self_attn.v_proj.weight_scale", 5, nan8, 1, INFER_EFORMAT,
	           "scale 5 is not a number");
	check_poke("ct-mixed", LAYER "self_attn.v_proj.weight_scale", 5, minus, 1, INFER_EFORMAT,
	           "scale 5 is negative");
	check_poke("ct-mixed", LAYER "self_attn.v_proj.weight_global_scale", 0, zero, 4,
	           INFER_EFORMAT, "must be a finite number above 0");
	check_poke("ct-mixed", LAYER "self_attn.v_proj.weight_global_scale", 0, &tiny, 4,
	           INFER_EFORMAT, "must be a finite number above 0");
	check_poke("modelopt", LAYER "self_attn.k_proj.weight_scale_2", 0, &big, 4, INFER_EFORMAT,
	           "must be a finite number above 0");
	check_poke("fp8-tensor", LAYER "self_attn.q_proj.weight_scale_inv", 0, "\x80\x7f", 2,
	           INFER_EFORMAT, "scale 0 is not a finite number");
}

/* Any column more or less in a group: there is no way to store the rest of a block. */
static void test_order(void **state)
{
	struct small s;
	unsigned char all[512];

	(void)state;
	memset(all, 0, sizeof all);
	check_poke("ct-order", LAYER "mlp.down_proj.weight_g_idx", 0, all, 8, INFER_EUNSUP,
	           "columns, \"group_size\" is 64");
	/* no order at all: the columns are in order */
	memset(all, 0xff, sizeof all);
	read_golden(&s, "ct-order");
	poke(&s, LAYER "mlp.down_proj.weight_g_idx", 0, all, sizeof all);
	assert_int_equal(small_write(&s, dir), 0);
	small_free(&s);
	infer_error err = { 0 };
	infer_file *f = NULL;
	if (infer_file_open(&f, dir, &err))
		fail_msg("%s", err.message);
	assert_null(infer_file_tensor(f, "blk.0.ffn_down.order"));
	infer_file_close(&f);
}

static int case_open(const char *golden)
{
	char path[128];
	infer_error err = { 0 };
	infer_file *f = NULL;
	int rc;

	snprintf(path, sizeof path, GOLDEN "%s", golden);
	nth_ok(infer_file_open(&f, path, &err));
out:
	infer_file_close(&f);
	return rc;
}

static int case_int4(void) { return case_open("ct-int4"); }
static int case_mixed(void) { return case_open("ct-mixed"); }
static int case_modelopt(void) { return case_open("modelopt"); }
static int case_gpt_oss(void) { return case_open("gpt-oss"); }

static void test_memory(void **state)
{
	static struct nth memory[] = {
		{ case_int4 }, { case_mixed }, { case_modelopt }, { case_gpt_oss }
	};

	(void)state;
	for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
		void *own = &memory[i];
		nth_run(&own);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config),  cmocka_unit_test(test_weights_config),
		cmocka_unit_test(test_tensors), cmocka_unit_test(test_other_methods),
		cmocka_unit_test(test_values),  cmocka_unit_test(test_order),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
