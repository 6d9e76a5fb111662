#!/usr/bin/env python3
"""Kill infer-serve at random points of a batch, until it has ended: every line has one answer, the one it has alone.

  kill-files.py INFER-SERVE LINES SEED    (needs the package openai)
"""
import json, os, random, shutil, signal, subprocess, sys, tempfile, time
import openai
B=sys.argv[1]; N=int(sys.argv[2]); seed=int(sys.argv[3]); random.seed(seed)
D=tempfile.mkdtemp()
def start():
    p=subprocess.Popen([B,"-m","demo","-t","2","--listen","127.0.0.1:0","--files-dir",D],stdout=subprocess.PIPE,text=True)
    return p,openai.OpenAI(base_url=p.stdout.readline().strip()+"/v1",api_key="x",max_retries=0)
p,c=start()
lines=[{"custom_id":f"r{i}","method":"POST","url":"/v1/completions","body":{"prompt":f"{i} tokens are","max_tokens":random.randint(1,40) if i%9 else -5,"ignore_eos":True,"seed":i}} for i in range(N)]
f=c.files.create(file=("in.jsonl","\n".join(map(json.dumps,lines)).encode()),purpose="batch")
b=c.batches.create(input_file_id=f.id,endpoint="/v1/completions",completion_window="24h")
kills=0
while True:
    t=time.time()+random.random()*0.35
    done=False
    while time.time()<t:
        b=c.batches.retrieve(b.id)
        if b.status in("completed","failed"): done=True; break
        time.sleep(.01)
    if done and kills>5: break
    p.send_signal(signal.SIGKILL); p.wait(); kills+=1
    p,c=start(); b=c.batches.retrieve(b.id)
    if b.status in("completed","failed"): break
out=[json.loads(l) for l in c.files.content(b.output_file_id).text.splitlines()]
err=[json.loads(l) for l in c.files.content(b.error_file_id).text.splitlines()]
ids=sorted(o["custom_id"] for o in out+err)
assert ids==sorted(l["custom_id"] for l in lines),(len(ids),N)
assert b.request_counts.completed==len(out) and b.request_counts.failed==len(err)
half=[x for x in os.listdir(D) if x.startswith(".")or x.endswith((".out",".err"))]
for o in random.sample(out,5):
    l=next(l for l in lines if l["custom_id"]==o["custom_id"])
    r=c.completions.create(model="m",prompt=l["body"]["prompt"],max_tokens=l["body"]["max_tokens"],seed=l["body"]["seed"],extra_body={"ignore_eos":True})
    assert r.choices[0].text==o["response"]["body"]["choices"][0]["text"]
p.terminate(); print("ok",b.status,"kills",kills,b.request_counts,half,"rc",p.wait())
assert not half
shutil.rmtree(D)
