/* tests/unit/hf/test_quantised_bad.c - configs and tensors of bitsandbytes, MLX and HQQ that are refused, by key or by tensor. */
#include "packed.h"

extern const struct packing packing_bnb4, packing_bnb8, packing_mlx, packing_hqq;

static struct packed_dir dir;
static infer_error error;

/* A copy of text with " for '. */
static char *quoted(const char *text)
{
	char *s = arena_strndup(&dir.d.brief, text, strlen(text));

	assert_non_null(s);
	for (char *at = s; *at; at++)
		if (*at == '\'')
			*at = '"';
	return s;
}

/* Open the module with a config; `change` changes its parts before. */
static int open_changed(const struct packing *how, const char *module, const char *config,
                        void (*change)(void))
{
	const struct json *q;
	const char *text = quoted(config);

	assert_int_equal(jread(&q, &dir.d.brief, text, strlen(text), "config", &error), INFER_OK);
	packed_find(&dir, how, module);
	if (change)
		change();
	error = (infer_error){ 0 };
	return packed_open(&dir, q, &error);
}

static void refused(int rc, int code, const char *says)
{
	if (rc != code || !strstr(error.message, says))
		fail_msg("%d \"%s\", not %d \"%s\"", rc, error.message, code, says);
}

static void open_dir(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "tests/golden/quantised/%s/model.safetensors", name);
	assert_int_equal(packed_open_dir(&dir, path, &error), INFER_OK);
}

/* A copy of the bytes of part i, to be changed. */
static unsigned char *own_data(int i)
{
	unsigned char *to = arena_raw(&dir.d.arena, dir.part[i].bytes);

	assert_non_null(to);
	memcpy(to, dir.part[i].data, dir.part[i].bytes);
	dir.part[i].data = to;
	return to;
}

/* The text of part i is `text`, with " for '. */
static void set_text(int i, const char *text)
{
	dir.part[i].data = (const unsigned char *)quoted(text);
	dir.part[i].bytes = strlen(text);
	dir.part[i].shape[0] = (int64_t)strlen(text);
}

static void drop_part(int i) { dir.p.part[i] = NULL; }

struct config_case {
	const char *config;
	int code;
	const char *says;
};
struct tensor_case {
	void (*change)(void);
	int code;
	const char *says;
};

static void refuse_configs(const struct packing *how, const char *module,
                           const struct config_case *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		refused(open_changed(how, module, c[i].config, NULL), c[i].code, c[i].says);
}

static void refuse_tensors(const struct packing *how, const char *module, const char *config,
                           const struct tensor_case *c, size_t n)
{
	assert_int_equal(open_changed(how, module, config, NULL), INFER_OK);
	for (size_t i = 0; i < n; i++)
		refused(open_changed(how, module, config, c[i].change), c[i].code, c[i].says);
}
#define COUNT(a) (sizeof(a) / sizeof *(a))

#define LAYER "model.layers.0."
#define Q LAYER "self_attn.q_proj" /* bnb-nf4: scales in F32 */
#define K LAYER "self_attn.k_proj" /* bnb-nf4: nested scales */

/* --- bitsandbytes */

#define NF4 "'load_in_4bit':true,'bnb_4bit_quant_type':'nf4'"
enum { ABSMAX, WEIGHT, MAP, STATE, NESTED, NESTED_MAP };

static const struct config_case nf4_configs[] = {
	{ "{" NF4 ",'load_in_8bit':true}", INFER_EFORMAT, "one of \"load_in_4bit\"" },
	{ "{'bnb_4bit_quant_type':'nf4'}", INFER_EFORMAT, "one of \"load_in_4bit\"" },
	{ "{'load_in_4bit':true,'bnb_4bit_quant_type':'fp4'}", INFER_EUNSUP,
	  "\"bnb_4bit_quant_type\" is fp4" },
	{ "{'load_in_4bit':true}", INFER_EUNSUP, "\"bnb_4bit_quant_type\" is absent" },
	{ "{'load_in_4bit':true,'bnb_4bit_quant_type':'int4'}", INFER_EUNSUP,
	  "must be one of nf4 fp4" },
	{ "{'load_in_4bit':1,'bnb_4bit_quant_type':'nf4'}", INFER_EFORMAT,
	  "\"load_in_4bit\" must be true or false" },
	{ "{" NF4 ",'bnb_4bit_compute_dtype':'int8'}", INFER_EUNSUP, "\"bnb_4bit_compute_dtype\"" },
	{ "{" NF4 ",'bnb_4bit_quant_storage':'float64'}", INFER_EUNSUP,
	  "\"bnb_4bit_quant_storage\"" },
	{ "{" NF4 ",'llm_int8_has_fp16_weight':true}", INFER_EUNSUP, "must be false" },
	{ "{" NF4 ",'llm_int8_skip_modules':'lm_head'}", INFER_EFORMAT,
	  "must be an array of strings" },
	{ "{" NF4 ",'llm_int8_skip_modules':[1]}", INFER_EFORMAT, "must be an array of strings" },
	{ "{" NF4 ",'blocksize':64}", INFER_EUNSUP, "blocksize is not a known member" },
};

#define STATE_OF(type, block, shape) \
	"{'quant_type':'" type "','blocksize':" block ",'dtype':'bfloat16','shape':" shape "}"
static void state_fp4(void) { set_text(STATE, STATE_OF("fp4", "64", "[64,64]")); }
static void state_32(void) { set_text(STATE, STATE_OF("nf4", "32", "[64,64]")); }
static void state_128(void) { set_text(STATE, STATE_OF("nf4", "128", "[64,64]")); }
static void state_0(void) { set_text(STATE, STATE_OF("nf4", "0", "[64,64]")); }
static void state_1d(void) { set_text(STATE, STATE_OF("nf4", "64", "[4096]")); }
static void state_negative(void) { set_text(STATE, STATE_OF("nf4", "64", "[-64,-64]")); }
static void state_huge(void) { set_text(STATE, STATE_OF("nf4", "64", "[4294967296,64]")); }
static void state_other(void) { set_text(STATE, STATE_OF("nf4", "64", "[64,128]")); }
static void state_torn(void) { set_text(STATE, "{'quant_type':'nf4',"); }
static void state_array(void) { set_text(STATE, "[]"); }
static void no_state(void) { drop_part(STATE); }
static void no_weight(void) { drop_part(WEIGHT); }
static void no_map(void) { drop_part(MAP); }
static void other_map(void) { own_data(MAP)[9] ^= 1; }
static void short_map(void) { dir.part[MAP].shape[0] = 15; }
static void half_absmax(void) { dir.part[ABSMAX].dtype = ST_F16; }
static void long_absmax(void) { dir.part[ABSMAX].shape[0]++; }
static void nan_absmax(void) { memset(own_data(ABSMAX) + 8, 0xff, 4); }
static void with_nested(void) { dir.p.part[NESTED] = &dir.part[ABSMAX]; }
static void no_nested(void) { drop_part(NESTED); }
static void no_nested_map(void) { drop_part(NESTED_MAP); }
static void long_nested(void) { dir.part[NESTED].shape[0] = 9; }
static void short_nested_map(void) { dir.part[NESTED_MAP].shape[0] = 16; }

static const struct tensor_case nf4_tensors[] = {
	{ state_fp4, INFER_EUNSUP, "\"quant_type\" must be nf4" },
	{ state_32, INFER_EUNSUP, "\"blocksize\" must be a multiple of 64" },
	{ state_0, INFER_EFORMAT, "blocksize" },
	{ state_128, INFER_EUNSUP, "\"blocksize\" does not divide the columns" },
	{ state_1d, INFER_EFORMAT, "\"shape\"" },
	{ state_negative, INFER_EFORMAT, "\"shape\"" },
	{ state_huge, INFER_EFORMAT, "\"shape\"" },
	{ state_other, INFER_EFORMAT, "by its quant_state 4096" },
	{ state_torn, INFER_EFORMAT, "quant_state" },
	{ state_array, INFER_EUNSUP, "\"quant_type\" must be nf4" },
	{ no_state, INFER_EFORMAT, "there is no " Q ".weight.quant_state" },
	{ no_weight, INFER_EFORMAT, "there is no " Q ".weight" },
	{ no_map, INFER_EFORMAT, "there is no " Q ".weight.quant_map" },
	{ other_map, INFER_EUNSUP, "that of NF4" },
	{ short_map, INFER_EFORMAT, "quant_map" },
	{ half_absmax, INFER_EFORMAT, "absmax" },
	{ long_absmax, INFER_EFORMAT, "absmax" },
	{ nan_absmax, INFER_ENAN, "scale 2 is not finite" },
	{ with_nested, INFER_EFORMAT, "nested" },
};
static const struct tensor_case nested_tensors[] = {
	{ no_nested, INFER_EFORMAT, "there is no " K ".weight.nested_absmax" },
	{ no_nested_map, INFER_EFORMAT, "there is no " K ".weight.nested_quant_map" },
	{ long_nested, INFER_EFORMAT, "nested_absmax" },
	{ short_nested_map, INFER_EFORMAT, "nested_quant_map" },
};

static void test_nf4(void **state)
{
	(void)state;
	open_dir("bnb-nf4");
	refuse_configs(&packing_bnb4, Q, nf4_configs, COUNT(nf4_configs));
	refuse_tensors(&packing_bnb4, Q, "{" NF4 "}", nf4_tensors, COUNT(nf4_tensors));
	refuse_tensors(&packing_bnb4, K, "{" NF4 "}", nested_tensors, COUNT(nested_tensors));
	packed_close(&dir);
}

enum { SCB, W8, FORMAT };
static void no_weight8(void) { drop_part(W8); }
static void unsigned8(void) { dir.part[W8].dtype = ST_U8; }
static void other_format(void) { *own_data(FORMAT) = 1; }
static void odd_columns(void) { dir.part[W8].shape[0] = 128, dir.part[W8].shape[1] = 32; }
static void short_scb(void) { dir.part[SCB].shape[0]--; }
static void nan_scb(void) { memset(own_data(SCB), 0xff, 4); }

static const struct tensor_case int8_tensors[] = {
	{ no_weight8, INFER_EFORMAT, "there is no " Q ".weight" },
	{ unsigned8, INFER_EFORMAT, "I8 matrix" },
	{ other_format, INFER_EUNSUP, "must be 0" },
	{ odd_columns, INFER_EUNSUP, "32 columns" },
	{ short_scb, INFER_EFORMAT, "SCB" },
	{ nan_scb, INFER_ENAN, "scale 0 is not finite" },
};
static const struct config_case int8_configs[] = {
	{ "{'load_in_8bit':true,'load_in_4bit':true}", INFER_EFORMAT, "one of \"load_in_4bit\"" },
	{ "{'load_in_8bit':true,'llm_int8_has_fp16_weight':true}", INFER_EUNSUP, "must be false" },
};

static void test_int8(void **state)
{
	(void)state;
	open_dir("bnb-int8");
	refuse_configs(&packing_bnb8, Q, int8_configs, COUNT(int8_configs));
	refuse_tensors(&packing_bnb8, Q, "{'load_in_8bit':true}", int8_tensors,
	               COUNT(int8_tensors));
	packed_close(&dir);
}

/* --- MLX */

#define MLX "'group_size':64,'bits':4"
enum { SCALES, CODES, BIASES };

static const struct config_case mlx_configs[] = {
	{ "{'bits':4}", INFER_EFORMAT, "\"bits\" and \"group_size\" must be there" },
	{ "{'group_size':64}", INFER_EFORMAT, "\"bits\" and \"group_size\" must be there" },
	{ "{'group_size':64,'bits':7}", INFER_EUNSUP, "\"bits\" is 7" },
	{ "{'group_size':64,'bits':1}", INFER_EUNSUP, "\"bits\" is 1" },
	{ "{'group_size':64,'bits':'4'}", INFER_EFORMAT, "\"bits\" must be an integer" },
	{ "{'group_size':48,'bits':4}", INFER_EUNSUP, "\"group_size\" is 48" },
	{ "{'group_size':256,'bits':4}", INFER_EUNSUP, "\"group_size\" is 256" },
	{ "{'group_size':64,'bits':4,'mode':'mxfp8'}", INFER_EUNSUP, "\"mode\" is mxfp8" },
	{ "{'group_size':64,'bits':4,'mode':'mxfp4'}", INFER_EUNSUP, "\"group_size\" 32" },
	{ "{'group_size':16,'bits':8,'mode':'nvfp4'}", INFER_EUNSUP, "\"bits\" must be 4" },
	{ "{'group_size':64,'bits':4,'groups':1}", INFER_EUNSUP, "groups is not a known member" },
	{ "{" MLX ",'" Q "':{'bits':7}}", INFER_EUNSUP, "\"bits\" is 7" },
	{ "{" MLX ",'" Q "':{'rank':7}}", INFER_EUNSUP, "rank is not a known member" },
	{ "{" MLX ",'" Q "':4}", INFER_EFORMAT, "must be an object, true or false" },
	{ "{" MLX ",'" Q "':false}", INFER_EFORMAT, "config.json says false" },
	/* contradictions with the tensors */
	{ "{'group_size':32,'bits':4}", INFER_EFORMAT, "its shape must be that of the weight" },
	{ "{'group_size':64,'bits':8}", INFER_EFORMAT, "its shape must be that of the weight" },
	{ "{'group_size':64,'bits':3}", INFER_EFORMAT, "its rows are no whole number of codes" },
};

static void mlx_no_weight(void) { drop_part(CODES); }
static void mlx_no_biases(void) { drop_part(BIASES); }
static void mlx_bytes(void) { dir.part[CODES].dtype = ST_U8; }
static void mlx_vector(void) { dir.part[CODES].n_dims = 1; }
static void mlx_short(void) { dir.part[SCALES].shape[0]--; }
static void mlx_biases(void) { dir.part[BIASES].shape[1]++; }
static void mlx_nan(void) { memset(own_data(SCALES), 0xff, 2); }
static void mlx_integers(void) { dir.part[SCALES].dtype = ST_I32; }
/* biases and scales that are 2^100 apart */
static void mlx_far(void)
{
	own_data(SCALES)[1] = 0x71;
	own_data(BIASES)[1] = 0x3f;
}

static const struct tensor_case mlx_tensors[] = {
	{ mlx_no_weight, INFER_EFORMAT, "there is no weight" },
	{ mlx_no_biases, INFER_EFORMAT, "there are no biases" },
	{ mlx_bytes, INFER_EFORMAT, "must be U32" },
	{ mlx_vector, INFER_EFORMAT, "two or three dimensions" },
	{ mlx_short, INFER_EFORMAT, "its shape must be" },
	{ mlx_biases, INFER_EFORMAT, "its shape must be" },
	{ mlx_nan, INFER_EFORMAT, "scale 0 is not a finite number" },
	{ mlx_integers, INFER_EUNSUP, "I32" },
	{ mlx_far, INFER_EUNSUP, "no type holds the sums" },
};

static void test_mlx(void **state)
{
	(void)state;
	open_dir("mlx");
	refuse_configs(&packing_mlx, Q, mlx_configs, COUNT(mlx_configs));
	refuse_tensors(&packing_mlx, Q, "{" MLX "}", mlx_tensors, COUNT(mlx_tensors));
	packed_close(&dir);
}

/* --- HQQ */

#define HQQ_OF(weights, rest) "{'quant_config':{'weight_quant_params':{" weights "}" rest "}}"
enum { WQ, SCALE, ZERO, NBITS, GROUP, SHAPE, AXIS };

static const struct config_case hqq_configs[] = {
	{ "{}", INFER_EFORMAT, "\"quant_config\" must be an object" },
	{ "{'quant_config':{'weight_quant_params':4}}", INFER_EFORMAT, "must be an object" },
	{ "{'quant_config':{'self_attn.q_proj':4}}", INFER_EFORMAT, "must be an object" },
	{ HQQ_OF("'axis':0", ""), INFER_EUNSUP, "\"axis\" is 0" },
	{ HQQ_OF("'nbits':9", ""), INFER_EUNSUP, "\"nbits\" is 9" },
	{ HQQ_OF("'view_as_float':true", ""), INFER_EUNSUP, "\"view_as_float\" must be false" },
	{ HQQ_OF("'channel_wise':false", ""), INFER_EUNSUP, "\"channel_wise\" must be true" },
	{ HQQ_OF("'nbits':4", ",'scale_quant_params':{'nbits':8}"), INFER_EFORMAT,
	  "\"scale_quant_params\"" },
	{ HQQ_OF("'nbits':4", ",'offload_meta':true"), INFER_EUNSUP, "\"offload_meta\"" },
	{ HQQ_OF("'bits':4", ""), INFER_EUNSUP, "bits is not a known member" },
};

static void hqq_no_scale(void) { drop_part(SCALE); }
static void hqq_no_shape(void) { drop_part(SHAPE); }
static void hqq_3bits(void) { *own_data(NBITS) = 3; }
static void hqq_group(void) { *own_data(GROUP) = 32; }
static void hqq_axis(void) { *own_data(AXIS) = 0; }
static void hqq_shape(void) { *own_data(SHAPE) = 32; }
static void hqq_negative(void) { own_data(SHAPE)[7] = 0x80; }
static void hqq_zero(void) { dir.part[ZERO].shape[0]++; }

static const struct tensor_case hqq_tensors[] = {
	{ hqq_no_scale, INFER_EFORMAT, "there is no scale" },
	{ hqq_no_shape, INFER_EFORMAT, "there is no shape" },
	{ hqq_3bits, INFER_EUNSUP, "must be 2, 4 or 8" },
	{ hqq_group, INFER_EUNSUP, "multiple of 64" },
	{ hqq_axis, INFER_EUNSUP, "must be 1" },
	{ hqq_shape, INFER_EFORMAT, "W_q" },
	{ hqq_negative, INFER_EFORMAT, "two positive integers" },
	{ hqq_zero, INFER_EFORMAT, "zero" },
};

static void test_hqq(void **state)
{
	(void)state;
	open_dir("hqq");
	refuse_configs(&packing_hqq, Q, hqq_configs, COUNT(hqq_configs));
	refuse_tensors(&packing_hqq, Q, HQQ_OF("'nbits':4", ""), hqq_tensors, COUNT(hqq_tensors));
	packed_close(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_nf4), cmocka_unit_test(test_int8),
		                            cmocka_unit_test(test_mlx),
		                            cmocka_unit_test(test_hqq) };

	return nth_group(tests);
}
