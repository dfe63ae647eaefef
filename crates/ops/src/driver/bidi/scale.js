// Makes a picture smaller: Firefox gives them in their own size only.
async (data, type, factor, quality) => {
  const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (character) => character.charCodeAt(0))]));
  const [width, height] = [bitmap.width, bitmap.height].map((size) => Math.max(1, Math.round(size * factor)));
  const canvas = new OffscreenCanvas(width, height);
  const pen = canvas.getContext('2d');
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(bitmap, 0, 0, width, height);
  const blob = await canvas.convertToBlob({ type, quality });
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
