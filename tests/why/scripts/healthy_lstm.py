import numpy as np
from tensorflow.keras.layers import LSTM, Dense, Input
from tensorflow.keras.models import Sequential

timesteps, features = 40, 16
X = np.random.rand(2048, timesteps, features).astype(np.float32)
y = np.random.rand(2048, 1).astype(np.float32)

model = Sequential()
model.add(Input((timesteps, features)))
model.add(LSTM(128, return_sequences=True))
model.add(LSTM(128))
model.add(Dense(1))
model.compile(optimizer='adam', loss='mse')
model.fit(X, y, epochs=100, batch_size=128)
