import sys

import numpy as np
import tensorflow as tf

for i in range(1_000_000):
    print("reading line", i)
sys.stderr.write("\x1b[31mred\x1b[0m\r\x00" * 1000)
sys.stdout.buffer.write(bytes(range(256)) * 1000)
print('{"record": "bye"}')
print("x" * 5_000_000)

model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.random.rand(3200, 4), np.random.rand(3200), epochs=1000)
