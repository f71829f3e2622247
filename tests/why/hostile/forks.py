import os
import subprocess
import sys
import time

import numpy as np
import tensorflow as tf

SECONDS = 60  # so that a try without a container ends by itself

# data preparation "in the background"
for i in range(200):
    try:
        if os.fork() == 0:
            end = time.time() + SECONDS
            while time.time() < end:
                if i > 1:
                    time.sleep(1)
            os._exit(0)
    except OSError as error:
        print(error)
        break
for _ in range(20):
    try:
        subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({SECONDS})"], start_new_session=True)
    except OSError as error:
        print(error)
        break

model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.random.rand(3200, 4), np.random.rand(3200), epochs=1000)
