/* tests/unit/hf/test_gptq_awq.c - GPTQ and AWQ: every value against tests/golden/packed/gptq.jsonl, and what is refused. */
#include "packed.h"

#include <unistd.h>

#define FILE_PATH "tests/golden/packed/gptq.safetensors"

extern const struct packing packing_gptq, packing_awq;

static char lines[1 << 14];

static size_t read_lines(void)
{
	FILE *f = fopen("tests/golden/packed/gptq.jsonl", "rb");
	size_t n;

	assert_non_null(f);
	n = fread(lines, 1, sizeof lines - 1, f);
	assert_true(feof(f));
	fclose(f);
	lines[n] = 0;
	return n;
}

static const struct packing *packing_of(const struct json *config)
{
	int gptq =
		packing_gptq.takes(config) && !json_equals(json_get(config, "quant_method"), "awq");

	assert_true(gptq || packing_awq.takes(config));
	return gptq ? &packing_gptq : &packing_awq;
}

static int open_case(struct packed_dir *t, const struct json *line, infer_error *err)
{
	packed_find(t, packing_of(json_get(line, "config")),
	            json_cstr(&t->d.brief, json_get(line, "module")));
	return packed_open(t, json_get(line, "config"), err);
}

static int case_golden(void)
{
	size_t n = read_lines();
	struct packed_dir t;
	struct arena a;
	infer_error err;
	int rc, count = 0;

	arena_init(&a, MEM_FILE);
	nth_ok(packed_open_dir(&t, FILE_PATH, &err));
	for (char *at = lines, *end; at < lines + n; at = end + 1, count++) {
		const struct json *line;

		end = strchr(at, '\n');
		nth_ok(jread(&line, &a, at, (size_t)(end - at), "gptq.jsonl", &err));
		nth_need(json_cstr(&t.d.brief, json_get(line, "module")));
		nth_ok(open_case(&t, line, &err));
		print_message("%s\n", t.p.module.at);
		assert_true(json_equals(json_get(line, "type"), infer_type_info(t.p.type)->name));
		assert_int_equal(t.p.rows, json_at(json_get(line, "shape"), 0)->i);
		assert_int_equal(t.p.cols, json_at(json_get(line, "shape"), 1)->i);
		/* all rows, rows that are no whole tiles, one row, and the more general type */
		packed_same(&t.p, t.p.rows, json_get(line, "sha256"));
		packed_same(&t.p, 13, json_get(line, "sha256"));
		packed_same(&t.p, 1, json_get(line, "sha256"));
		t.p.type = t.p.general ? t.p.general : t.p.type;
		packed_same(&t.p, t.p.rows, json_get(line, "sha256"));
	}
	assert_int_equal(count, 19);
out:
	packed_close(&t);
	arena_fini(&a);
	return rc;
}

/* --- what is refused */

static struct packed_dir dir;
static infer_error error;

static int open_dir(void **state)
{
	(void)state;
	return packed_open_dir(&dir, FILE_PATH, &error);
}

static int close_dir(void **state)
{
	(void)state;
	packed_close(&dir);
	return 0;
}

/* Open a module with a config, which has ' for ". */
static int try(const struct packing *how, const char *module, const char *config)
{
	const struct json *q;
	char text[1024];

	snprintf(text, sizeof text, "%s", config);
	for (char *s = text; *s; s++)
		if (*s == '\'')
			*s = '"';
	char *kept = arena_strndup(&dir.d.brief, text, strlen(text));
	assert_int_equal(jread(&q, &dir.d.brief, kept, strlen(kept), "config", &error), INFER_OK);
	packed_find(&dir, how, module);
	error = (infer_error){ 0 };
	return packed_open(&dir, q, &error);
}

static void refused(int rc, int code, const char *says)
{
	if (rc != code || !strstr(error.message, says))
		fail_msg("%d \"%s\", not %d \"%s\"", rc, error.message, code, says);
}

#define GPTQ_ASYM "'quant_method':'gptq','bits':4,'group_size':64,'sym':false,'desc_act':false"

/* A config and what its refusal says. */
struct refusal {
	const char *config;
	int code;
	const char *says;
};
static const struct refusal gptq_configs[] = {
	{ "{'group_size':64}", INFER_EFORMAT, "\"bits\" is missing" },
	{ "{'bits':4}", INFER_EFORMAT, "\"group_size\" is missing" },
	{ "{'bits':null,'group_size':64}", INFER_EFORMAT, "\"bits\" is missing" },
	{ "{'bits':'4','group_size':64}", INFER_EFORMAT, "\"bits\" must be" },
	{ "{'bits':4.5,'group_size':64}", INFER_EFORMAT, "\"bits\" must be" },
	{ "{'bits':3,'group_size':64}", INFER_EUNSUP, "\"bits\" is 3" },
	{ "{'bits':5,'group_size':64}", INFER_EUNSUP, "\"bits\" is 5" },
	{ "{'bits':16,'group_size':64}", INFER_EUNSUP, "\"bits\" is 16" },
	{ "{'bits':-4,'group_size':64}", INFER_EUNSUP, "\"bits\" is -4" },
	{ "{'bits':8,'group_size':64}", INFER_EFORMAT, "\"bits\" 8" },
	{ "{'bits':2,'group_size':64}", INFER_EFORMAT, "\"bits\" 2" },
	{ "{'bits':4,'group_size':0}", INFER_EFORMAT, "\"group_size\" is 0" },
	{ "{'bits':4,'group_size':-2}", INFER_EUNSUP, "\"group_size\" is -2" },
	{ "{'bits':4,'group_size':32}", INFER_EFORMAT, "\"group_size\" 32" },
	{ "{'bits':4,'group_size':-1}", INFER_EFORMAT, "\"group_size\" -1" },
	{ "{'bits':4,'group_size':1e30}", INFER_EFORMAT, "\"group_size\" must be" },
	{ "{'bits':4,'group_size':64,'sym':true}", INFER_EFORMAT, "\"sym\"" },
	{ "{'bits':4,'group_size':64,'sym':1}", INFER_EFORMAT, "\"sym\" must be" },
	{ "{'bits':4,'group_size':64,'desc_act':'no'}", INFER_EFORMAT, "\"desc_act\" must" },
	{ "{" GPTQ_ASYM ",'checkpoint_format':'marlin'}", INFER_EUNSUP,
	  "\"checkpoint_format\" is marlin" },
	{ "{" GPTQ_ASYM ",'checkpoint_format':'bitblas'}", INFER_EUNSUP,
	  "\"checkpoint_format\" is bitblas" },
	{ "{" GPTQ_ASYM ",'checkpoint_format':4}", INFER_EFORMAT, "\"checkpoint_format\"" },
	{ "{" GPTQ_ASYM ",'format':'gptq_p'}", INFER_EUNSUP, "\"format\" is gptq_p" },
	{ "{" GPTQ_ASYM ",'format':'gptq','checkpoint_format':'gptq_v2'}", INFER_EFORMAT,
	  "\"checkpoint_format\" and \"format\" differ" },
	{ "{" GPTQ_ASYM ",'is_marlin_format':true}", INFER_EUNSUP, "\"is_marlin_format\"" },
	{ "{" GPTQ_ASYM ",'pack_dtype':'int64'}", INFER_EUNSUP, "\"pack_dtype\" is int64" },
	{ "{" GPTQ_ASYM ",'data_type':'mx_fp'}", INFER_EUNSUP, "\"data_type\" is mx_fp" },
	{ "{" GPTQ_ASYM ",'act_bits':8}", INFER_EUNSUP, "\"act_bits\" is 8" },
	{ "{" GPTQ_ASYM ",'packing_format':'auto_round:llm_compressor'}", INFER_EUNSUP,
	  "\"packing_format\"" },
	{ "{" GPTQ_ASYM ",'rotation':true}", INFER_EUNSUP, "\"rotation\"" },
	{ "{" GPTQ_ASYM ",'adapter':{}}", INFER_EFORMAT, "\"adapter\"" },
	{ "{" GPTQ_ASYM ",'super_bits':6}", INFER_EFORMAT, "\"super_bits\"" },
	{ "{" GPTQ_ASYM ",'method':'qqq'}", INFER_EUNSUP, "\"method\" is qqq" },
	{ "{" GPTQ_ASYM ",'lm_head':'no'}", INFER_EFORMAT, "\"lm_head\" must be" },
	{ "{" GPTQ_ASYM ",'frobnicate':1}", INFER_EUNSUP, "frobnicate" },
	{ "{" GPTQ_ASYM ",'dynamic':[]}", INFER_EFORMAT, "\"dynamic\" must be" },
	{ "{" GPTQ_ASYM ",'dynamic':{'+:q':4}}", INFER_EFORMAT, "\"dynamic\"" },
	{ "{" GPTQ_ASYM ",'dynamic':{'+:q':{'bits':3}}}", INFER_EUNSUP, "\"bits\" is 3" },
	{ "{" GPTQ_ASYM ",'dynamic':{'+:q':{'group_size':0}}}", INFER_EFORMAT,
	  "\"group_size\" is 0" },
	{ "{" GPTQ_ASYM ",'dynamic':{'+:q':{'format':'marlin'}}}", INFER_EUNSUP, "format" },
	{ "{" GPTQ_ASYM ",'extra_config':7}", INFER_EFORMAT, "\"extra_config\" must be" },
	{ "{" GPTQ_ASYM ",'extra_config':{'q':{'act_bits':8}}}", INFER_EUNSUP,
	  "\"act_bits\" is 8" },
};

static void test_gptq_config(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof gptq_configs / sizeof *gptq_configs; i++)
		refused(try(&packing_gptq, "asym4", gptq_configs[i].config), gptq_configs[i].code,
		        gptq_configs[i].says);
}

/* Overrides name the numbers that some modules have; members about the making of a file are of no effect. */
static void test_gptq_overrides(void **state)
{
	(void)state;
	assert_int_equal(try(&packing_gptq, "asym4",
	                     "{'bits':8,'group_size':32,'dynamic':{'-:a':{},'+:q':{'bits':4,"
	                     "'group_size':64}}}"),
	                 INFER_OK);
	assert_int_equal(try(&packing_gptq, "asym4",
	                     "{'bits':4,'group_size':32,'sym':true,'extra_config':{'q':{"
	                     "'group_size':64,'sym':false},'r':{'bits':16,'data_type':'float'}}}"),
	                 INFER_OK);
	assert_int_equal(try(&packing_gptq, "asym4",
	                     "{" GPTQ_ASYM ",'dataset':['c4'],'meta':{'quantizer':['x']},"
	                     "'damp_percent':0.1,'true_sequential':true,'tokenizer':null}"),
	                 INFER_OK);
	assert_int_equal(dir.p.bits, 4);
	assert_int_equal(dir.p.group, 64);
	assert_true(dir.p.has_zeros);
}

#define AWQ_ASYM "'quant_method':'awq','bits':4,'group_size':64,'zero_point':true"

static void test_awq_config(void **state)
{
	static const struct refusal cases[] = {
		{ "{'group_size':64}", INFER_EFORMAT, "\"bits\" is missing" },
		{ "{'w_bit':4}", INFER_EFORMAT, "\"group_size\" is missing" },
		{ "{'bits':8,'group_size':64}", INFER_EUNSUP, "\"bits\" is 8" },
		{ "{'w_bit':3,'group_size':64}", INFER_EUNSUP, "\"w_bit\" is 3" },
		{ "{'bits':'4','group_size':64}", INFER_EFORMAT, "\"bits\" must be" },
		{ "{'bits':4,'group_size':0}", INFER_EFORMAT, "\"group_size\" is 0" },
		{ "{'bits':4,'group_size':32}", INFER_EFORMAT, "\"group_size\" 32" },
		{ "{'bits':4,'group_size':64,'q_group_size':128}", INFER_EFORMAT, "differ" },
		{ "{'bits':4,'group_size':64,'zero_point':false}", INFER_EFORMAT, "zero_point" },
		{ "{'bits':4,'group_size':64,'zero_point':0}", INFER_EFORMAT, "zero_point" },
		{ "{" AWQ_ASYM ",'sym':true}", INFER_EFORMAT, "contradict" },
		{ "{" AWQ_ASYM ",'version':'gemv_fast'}", INFER_EUNSUP,
		  "\"version\" is gemv_fast" },
		{ "{" AWQ_ASYM ",'version':'exllama'}", INFER_EUNSUP, "\"version\" is exllama" },
		{ "{" AWQ_ASYM ",'version':'marlin'}", INFER_EUNSUP, "\"version\" is marlin" },
		{ "{" AWQ_ASYM ",'version':7}", INFER_EFORMAT, "\"version\" must be" },
		{ "{" AWQ_ASYM ",'version':'gemm','format':'gemv'}", INFER_EFORMAT, "differ" },
		{ "{" AWQ_ASYM ",'version':'gemv'}", INFER_EFORMAT, "do not fit together" },
		{ "{" AWQ_ASYM ",'modules_to_not_convert':'lm_head'}", INFER_EFORMAT,
		  "\"modules_to_not_convert\" must be" },
		{ "{" AWQ_ASYM ",'modules_to_not_convert':[1]}", INFER_EFORMAT,
		  "\"modules_to_not_convert\" must be" },
		{ "{" AWQ_ASYM ",'modules_to_not_convert':['aw']}", INFER_EFORMAT,
		  "\"modules_to_not_convert\" has aw" },
		{ "{" AWQ_ASYM ",'desc_act':true}", INFER_EUNSUP, "\"desc_act\"" },
		{ "{" AWQ_ASYM ",'frobnicate':1}", INFER_EUNSUP, "frobnicate" },
		{ "{" AWQ_ASYM ",'extra_config':[]}", INFER_EFORMAT, "\"extra_config\" must be" },
		{ "{" AWQ_ASYM ",'extra_config':{'q':{'bits':8}}}", INFER_EUNSUP, "\"bits\" is 8" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refused(try(&packing_awq, "awq", cases[i].config), cases[i].code, cases[i].says);
	assert_int_equal(try(&packing_awq, "awq",
	                     "{" AWQ_ASYM ",'modules_to_not_convert':['lm_head'],"
	                     "'version':'GEMM','do_fuse':false}"),
	                 INFER_OK);
}

/* --- tensors */

/* Open the module again with part i changed by the caller. */
static int again(void) { return dir.p.how->open(&dir.d, &dir.p, &error); }

static void start(const struct packing *how, const char *module, const char *config)
{
	const struct json *q;
	char *text = arena_strndup(&dir.d.brief, config, strlen(config));

	for (char *s = text; *s; s++)
		if (*s == '\'')
			*s = '"';
	assert_int_equal(jread(&q, &dir.d.brief, text, strlen(text), "config", &error), INFER_OK);
	packed_find(&dir, how, module);
	assert_int_equal(how->config(&dir.d, q, &dir.p.own, &error), INFER_OK);
}

/* A copy of the data of part i, to be changed. */
static unsigned char *own_data(int i)
{
	unsigned char *to = arena_raw(&dir.d.arena, dir.part[i].bytes);

	memcpy(to, dir.part[i].data, dir.part[i].bytes);
	dir.part[i].data = to;
	return to;
}

static void test_gptq_tensors(void **state)
{
	static const char asym[] = "{" GPTQ_ASYM "}";
	(void)state;

	start(&packing_gptq, "asym4", asym);
	dir.p.part[1] = NULL;
	refused(again(), INFER_EFORMAT, "it has no \"qzeros\"");
	start(&packing_gptq, "asym4", asym);
	dir.p.part[2] = NULL;
	refused(again(), INFER_EFORMAT, "it has no \"scales\"");
	start(&packing_gptq, "asym4", asym);
	dir.part[0].dtype = ST_F16;
	refused(again(), INFER_EUNSUP, "its dtype is F16");
	start(&packing_gptq, "asym4", asym);
	dir.part[2].dtype = ST_I32;
	refused(again(), INFER_EUNSUP, "its dtype is I32");
	start(&packing_gptq, "asym4", asym);
	dir.part[0].n_dims = 1;
	refused(again(), INFER_EFORMAT, "dimensions");
	start(&packing_gptq, "asym4", asym);
	dir.part[0].shape[0] = 0;
	refused(again(), INFER_EFORMAT, "dimensions");
	start(&packing_gptq, "asym4", asym);
	dir.part[0].shape[1] = 16;
	refused(again(), INFER_EFORMAT, "qweight has 16 outputs");
	start(&packing_gptq, "asym4", asym);
	dir.part[1].shape[0] = 2;
	refused(again(), INFER_EFORMAT, "qzeros 2 groups");
	start(&packing_gptq, "asym4", asym);
	dir.part[1].shape[1] = 3;
	refused(again(), INFER_EFORMAT, "3 words for 32 outputs");
	start(&packing_gptq, "asym4", asym);
	memset(own_data(2) + 66, 0xff, 2); /* the second output of the second group */
	refused(again(), INFER_ENAN, "output 1 in group 1");
	start(&packing_gptq, "asym4", asym);
	dir.part[2].dtype = ST_F32;
	memset(own_data(2), 0x3c, dir.part[2].bytes);
	dir.part[1].shape[0] = dir.part[2].shape[0] = 1;
	dir.part[0].shape[0] = 8; /* 64 inputs */
	refused(again(), INFER_EUNSUP, "more bits");
	start(&packing_gptq, "sym4.small",
	      "{'bits':4,'group_size':32,'checkpoint_format':'gptq_v2'}"); /* zero point 7 */
	refused(again(), INFER_EUNSUP, "zero points, in groups of 32");
}

static void test_order(void **state)
{
	static const char config[] = "{'bits':4,'group_size':32,'sym':true,'desc_act':true}";
	uint32_t *g;
	(void)state;

	start(&packing_gptq, "order4", config);
	assert_int_equal(again(), INFER_OK);
	assert_non_null(dir.p.order);
	for (int64_t i = 1; i < dir.p.cols; i++) /* stable */
		if (i % 32)
			assert_true(dir.p.order[i - 1] < dir.p.order[i]);
	start(&packing_gptq, "order4", "{'bits':4,'group_size':32,'sym':true}");
	refused(again(), INFER_EFORMAT, "\"desc_act\" is not true");
	start(&packing_gptq, "order4", config);
	g = (uint32_t *)(void *)own_data(3);
	g[5] = 4;
	refused(again(), INFER_EFORMAT, "element 5 is 4, of 4 groups");
	g[5] = 0xffffffff;
	start(&packing_gptq, "order4", config);
	dir.part[3].data = (unsigned char *)g;
	refused(again(), INFER_EFORMAT, "element 5 is -1");
	start(&packing_gptq, "order4", config);
	memset(own_data(3), 0, dir.part[3].bytes);
	refused(again(), INFER_EFORMAT, "group 0 has 128 inputs");
	start(&packing_gptq, "order4", config);
	dir.part[3].shape[0] = 96;
	refused(again(), INFER_EFORMAT, "96 elements for the 128 inputs");
	start(&packing_gptq, "order4", config);
	g = (uint32_t *)(void *)own_data(3);
	for (uint32_t i = 0; i < 128; i++)
		g[i] = i / 32; /* in order: no permutation */
	assert_int_equal(again(), INFER_OK);
	assert_null(dir.p.order);
}

static void test_awq_tensors(void **state)
{
	static const char asym[] = "{" AWQ_ASYM "}";
	(void)state;

	start(&packing_awq, "awq", asym);
	dir.p.part[1] = NULL;
	refused(again(), INFER_EFORMAT, "it has no \"qzeros\"");
	start(&packing_awq, "awq", asym);
	dir.part[0].dtype = ST_I16;
	refused(again(), INFER_EUNSUP, "its dtype is I16");
	start(&packing_awq, "awq", asym);
	dir.part[1].shape[1] = 5;
	refused(again(), INFER_EFORMAT, "do not fit together");
	start(&packing_awq, "awq", asym);
	dir.part[2].shape[1] = 40;
	refused(again(), INFER_EFORMAT, "do not fit together");
	start(&packing_awq, "awq", asym);
	memset(own_data(2), 0x7c, 2);
	refused(again(), INFER_ENAN, "output 0 in group 0");
	start(&packing_awq, "gemv", "{'w_bit':4,'q_group_size':128,'version':'gemv'}");
	dir.part[2].shape[1] = 1;
	dir.part[1].shape[1] = 0;
	refused(again(), INFER_EFORMAT, "dimensions");
	start(&packing_awq, "gemv.64", "{'w_bit':4,'q_group_size':8,'version':'gemv'}");
	refused(again(), INFER_EUNSUP, "in groups of 8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_golden),
		cmocka_unit_test_setup_teardown(test_gptq_config, open_dir, close_dir),
		cmocka_unit_test_setup_teardown(test_gptq_overrides, open_dir, close_dir),
		cmocka_unit_test_setup_teardown(test_awq_config, open_dir, close_dir),
		cmocka_unit_test_setup_teardown(test_gptq_tensors, open_dir, close_dir),
		cmocka_unit_test_setup_teardown(test_order, open_dir, close_dir),
		cmocka_unit_test_setup_teardown(test_awq_tensors, open_dir, close_dir),
	};
	return nth_group(tests);
}
