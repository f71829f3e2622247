"""The rows of `schema1`: what its cells are, and the stages of their ways."""

from __future__ import annotations

ROWS = """
matmul | kin=product/{n} larger=n dispatch=eager data=device
matmul xla=on | dispatch=xla
matmul.square | headline=time
matmul.square operands=host | data=host | nearer operands=device: with the operands on the device
matmul.square xla=off | | fewer xla=on
matmul.extra | role=control
mlp | kin=training/A larger=batch operations=TRAINING dispatch=graph data=device steps=yes
mlp.train | kin=training/{net} headline=rate priced=yes | compute data=device: with the data on the device
mlp.train data=host | data=host | nearer data=device: with the data on the device
mlp.train data=dataset | data=prefetched
mlp.train net=A data=dataset | | input tfdata.slices/batch={batch}/shuffle=on/prefetch=on:
mlp.train execution=graph | | fewer execution=xla
mlp.train execution=eager | dispatch=eager operations= | fewer execution=graph; compute -
mlp.train execution=xla | dispatch=xla operations= | compute -
mlp.train precision=tf32 | | compute -
mlp.train precision=bf16 | | compute -
mlp.train precision=fp16 | | compute -
mlp.width | kin=training_at_width/{width} priced=yes
mlp.loop | dispatch=keras data=prefetched priced=yes | fewer steps_per_execution=32
mlp.infer | kin=inference/A operations= dispatch=keras priced=yes | fewer call=direct
mlp.infer call=direct | dispatch=eager
mlp.infer call=predict | operations=PRODUCTS data=host
mlp.build | kin=building/{model} larger= operations= dispatch=keras data= steps=
mlp.fallback | | without python=none: without it
mlp.fallback python=none | | plain STEP: with the data on the device
asked | kin=training/B operations=TRAINING dispatch=graph
asked on=cpu | role=reference device=cpu
asked.matmul | kin=product/{n} larger=n operations= dispatch=eager data=device
asked.clone | kin=building/clone operations= dispatch=eager
asked.clone stage=first | device=none
asked.slices | data=host
asked.slices stage=naive | | start overhead.startup/stage=step:
asked.slices stage=naive on=cpu | operations=PRODUCTS
asked.slices stage=traced on=cpu | operations=PRODUCTS
asked.slices stage=device-data | data=device
asked.slices stage=batch-512 | data=device
asked.slices stage=batch-512 on=arm | | plain B512: with the data on the device
asked.dataset | data=prefetched steps=yes
asked.dataset stage=no-fetch on=arm | | compute B32: with the data on the device
asked.fit | kin=training/A larger=batch dispatch=keras data=prefetched steps=yes
asked.fit prefetch=off | data=pipeline
asked.fit stage=epoch-1 | | start overhead.startup/stage=step:
asked.fit stage=epoch-2 | | start overhead.startup/stage=step:
asked.fit stage=epoch-3 | | start overhead.startup/stage=step:
asked.fit stage=steady | | feed prefetch=on
asked.fit stage=steady on=arm | priced=yes | prefetched prefetch=on: prefetched
asked.fit stage=steady on=arm batch=512 prefetch=on | | own-loop FED: by a loop of one's own
tfdata | role=input device=cpu data=prefetched
tfdata prefetch=off | data=pipeline
tfdata.slices | kin=slices | prefetched prefetch=on: prefetched
tfdata.cache | kin=cache
tfdata.map | kin=map | prefetched prefetch=on: prefetched; native function=native: native map
tfdata.read | kin=read data=file
tfdata.to_device | kin=to_device device=arm operations=TRAINING steps=yes | nearer ahead=on: when copied ahead
tfdata.to_device | | compute STEP: with the data on the device
tfdata.triple | kin={part}/{pipeline} steps=yes
tfdata.triple pipeline=native | data=pipeline
tfdata.triple part=trivial | device=arm operations=PRODUCTS dispatch=graph | input part=input
tfdata.triple part=trivial | | feed pipeline=parallel; feed pipeline=native; feed pipeline=numpy_function
tfdata.triple part=together | kin=training/A device=arm operations=TRAINING dispatch=graph priced=yes
tfdata.triple part=together | | input part=input; trivial part=trivial
tfdata.triple part=together | | compute STEP: with the data on the device
tfdata.triple part=together | | feed pipeline=parallel; feed pipeline=native; feed pipeline=numpy_function
tfdata.triple part=together pipeline=native | | prefetched pipeline=parallel: prefetched, map in parallel
tfdata.triple part=together pipeline=numpy_function | | native pipeline=parallel: native map in parallel
overhead | role=overhead
overhead.fence | kin=fence price=fence device=none
overhead.eager_op | kin=eager_op price=eager
overhead.function_call | kin=function_call price=graph operations=AddV2
overhead.xla_call | kin=xla_call price=xla
overhead.graph_op | kin=graph_op price=operation operations=Mul,_MklMul
overhead.copy | kin=copying/{direction} price=copy-in
overhead.copy direction=from-device | price=copy-out device=cpu
overhead.sum | role=reference kin=sum price=memory
overhead.startup | kin=starting/{stage} price=start-up device=none
overhead.container | kin=starting/container price=start-up device=none
"""
"""A row: family or case and what its axes have to be | traits | links; later rows over earlier ones.

``{axis}`` is filled in.  A link is a name, the cell (an id, or the axis that differs) and what is different
there; one that differs in nothing is none, unless it is ``compute``; ``-`` takes one back.  ``steps``: a
call goes through batches."""

WAYS = """
asked.matmul | a product, timed with everything around it | product | call | n
naive | | as asked
first-call-apart | start-up | the first call no longer timed
warm | start-up | creation and random numbers no longer timed

asked.clone | a model cloned, once | model | call |
first | | as asked
again | start-up | again, once warm

asked.slices | 1,000 examples in slices of 10 | example | |
naive | | as asked
traced | start-up | tracing no longer timed
placed | fallback | the model made on the device timed
float32 | transfer | float32 inputs instead of float64
no-fetch | overhead | the loss no longer fetched every step
device-data | transfer | the data already on the device
batch-512 | overhead | batch 512 instead of 10

asked.dataset | 100,000 examples from a dataset, the loss fetched at every step | example | |
fetch | | as asked
no-fetch | overhead | the loss no longer fetched every step

asked.fit | Model.fit, its first epoch | example | | batch,prefetch
epoch-1 | | as asked
epoch-2 | start-up | the second epoch
epoch-3 | start-up | the third epoch
steady | start-up | an epoch once warm
"""
"""A case: its title, unit, whether a call counts, the axes with a way each; and its stages: the value of the
axis ``stage``, what it removes, what changes."""

WORDS = {
    "PRODUCTS": "*MatMul*",
    "TRAINING": "*MatMul*,BiasAddGrad,ReluGrad,AssignSubVariableOp,ResourceApplyAdam",
    "FED": "mlp.train/net=A/batch={batch}/data=dataset/precision=fp32/execution=graph",
    "B512": "mlp.train/net=B/batch=512/data=device/precision=fp32/execution=graph",
    "B32": "mlp.train/net=B/batch=32/data=device/precision=fp32/execution=graph",
    "STEP": "mlp.train/net=A/batch={batch}/data=device/precision=fp32/execution=graph",
}
"""What stands in the rows for something longer."""
